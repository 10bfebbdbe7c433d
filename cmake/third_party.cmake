# Libraries that come as Debian packages; setup/packages.txt names them.
find_package(nlohmann_json 3.10 REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Threads REQUIRED)
find_package(ICU COMPONENTS uc i18n)
find_package(PNG)
find_package(CLI11)
