# Filled by the packaging part: install rules and find_package(tessera).
