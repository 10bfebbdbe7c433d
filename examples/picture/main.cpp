// Makes a picture through the installed C++ interface: picture [MODEL] [PROMPT] [OUT.png]
#include <cstdio>
#include <string>

#include <tessera/tessera.h>

int main(int argc, char** argv) {
  using namespace tessera::api;
  const std::string prompt = argc > 2 ? argv[2] : "red apple";
  const std::string out = argc > 3 ? argv[3] : "picture.png";
  Failure failure;

  const auto model = Model::open({.model = argc > 1 ? argv[1] : "demo"}, failure);
  if (!model) return std::fprintf(stderr, "error: %s\n", failure.message.c_str()), 1;

  const auto picture = model->generate({.prompt = prompt, .seed = 1}, failure, [](auto done, auto total) {
    std::printf("step %ld of %ld\n", static_cast<long>(done), static_cast<long>(total));
    return true;  // false would stop the run
  });
  if (!picture || !write_png(*picture, out, failure)) {
    return std::fprintf(stderr, "error: %s\n", failure.message.c_str()), 1;
  }
  std::printf("%s: %ld x %ld pixels\n", out.c_str(), static_cast<long>(picture->width),
              static_cast<long>(picture->height));
}
