// The reading half of video.h: every frame of a file, for comparisons.
#include "base/strings.h"
#include "media/ffmpeg.h"
#include "media/video.h"

namespace tessera::media {
namespace {

using namespace ffmpeg;

constexpr int64_t kLimitBytes = int64_t{4} << 30;

/// An open file with its decoder.
struct Input {
  AVFormatContext* format = nullptr;
  Codec codec;
  int stream = -1;
  int64_t bytes = 0;  ///< pixels so far
  Video video;

  Input() = default;
  ~Input() { avformat_close_input(&format); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
};

Error bad_video(const std::filesystem::path& path, const std::string& why) {
  return {ErrorCode::BadFile, strings::join(path.string(), " is not a readable video (", why, ")"), ""};
}

Status open(Input& input, const std::filesystem::path& path) {
  int code = avformat_open_input(&input.format, path.c_str(), nullptr, nullptr);
  if (code >= 0) code = avformat_find_stream_info(input.format, nullptr);
  if (code < 0) return fail(bad_video(path, reason(code)));
  const AVCodec* decoder = nullptr;
  input.stream = av_find_best_stream(input.format, AVMEDIA_TYPE_VIDEO, -1, -1, &decoder, 0);
  if (input.stream < 0 || decoder == nullptr) return fail(bad_video(path, "no video stream"));
  const AVStream* stream = input.format->streams[input.stream];
  input.codec.reset(avcodec_alloc_context3(decoder));
  if (!input.codec) return fail(ErrorCode::OutOfMemory, "no memory for the video decoder");
  code = avcodec_parameters_to_context(input.codec.get(), stream->codecpar);
  if (code >= 0) code = avcodec_open2(input.codec.get(), decoder, nullptr);
  if (code < 0) return fail(bad_video(path, reason(code)));
  input.video.fps = av_q2d(stream->avg_frame_rate);
  const AVDictionaryEntry* comment = av_dict_get(input.format->metadata, "comment", nullptr, 0);
  if (comment != nullptr) input.video.comment = comment->value;
  return {};
}

Status take_frame(Input& input, const AVFrame& frame) {
  Image image{{}, frame.width, frame.height};
  input.bytes += image.view().size_bytes();
  if (input.bytes > kLimitBytes) return fail(ErrorCode::OutOfMemory, "the video has more than 4 GiB of pixels");
  image.rgb.resize(static_cast<size_t>(image.view().size_bytes()));
  const Scaler scaler(sws_getContext(frame.width, frame.height, static_cast<AVPixelFormat>(frame.format), frame.width,
                                     frame.height, AV_PIX_FMT_RGB24, SWS_BICUBIC | SWS_ACCURATE_RND, nullptr, nullptr,
                                     nullptr));
  if (!scaler) return fail(ErrorCode::BadFile, "the video's pixel format is unknown");
  const bool bt709 = frame.colorspace == AVCOL_SPC_BT709;
  const int* table = sws_getCoefficients(bt709 ? SWS_CS_ITU709 : SWS_CS_DEFAULT);
  sws_setColorspaceDetails(scaler.get(), table, frame.color_range == AVCOL_RANGE_JPEG ? 1 : 0, table, 1, 0, 1 << 16,
                           1 << 16);
  uint8_t* rgb = image.rgb.data();
  const int stride = frame.width * 3;
  sws_scale(scaler.get(), frame.data, frame.linesize, 0, frame.height, &rgb, &stride);
  input.video.frames.push_back(std::move(image));
  return {};
}

/// Sends a packet (nullptr: the end) and takes every frame that is ready.
Status decode(Input& input, const AVPacket* packet, AVFrame* frame, const std::filesystem::path& path) {
  int code = avcodec_send_packet(input.codec.get(), packet);
  while (code >= 0) {
    code = avcodec_receive_frame(input.codec.get(), frame);
    if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return {};
    if (code >= 0) TESSERA_TRY_OK(take_frame(input, *frame));
  }
  return fail(bad_video(path, reason(code)));
}

}  // namespace

Result<Video> read_video(const std::filesystem::path& path) {
  av_log_set_level(AV_LOG_FATAL);  // damage is told once, by our own error
  std::error_code ec;
  if (!std::filesystem::exists(path, ec)) return fail(ErrorCode::NotFound, path.string() + " is not there");
  Input input;
  TESSERA_TRY_OK(open(input, path));
  const Packet packet(av_packet_alloc());
  const Frame frame(av_frame_alloc());
  if (!packet || !frame) return fail(ErrorCode::OutOfMemory, "no memory for the video decoder");
  while (av_read_frame(input.format, packet.get()) >= 0) {
    Status taken;
    if (packet->stream_index == input.stream) taken = decode(input, packet.get(), frame.get(), path);
    av_packet_unref(packet.get());
    TESSERA_TRY_OK(taken);
  }
  TESSERA_TRY_OK(decode(input, nullptr, frame.get(), path));
  if (input.video.frames.empty()) return fail(bad_video(path, "no frames"));
  return std::move(input.video);
}

}  // namespace tessera::media
