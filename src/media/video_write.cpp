// The writing half of video.h: an MP4 file from frames.
#include <array>
#include <cmath>

#include <unistd.h>

#include "base/log.h"
#include "base/strings.h"
#include "media/ffmpeg.h"
#include "media/video.h"

namespace tessera::media {
namespace {

using namespace ffmpeg;

/// A file being written: closed at the end; removed unless it was finished.
class Output {
 public:
  explicit Output(std::filesystem::path path)
      : path_(std::move(path)), temporary_(strings::join(path_.string(), ".tmp", ::getpid())) {}
  ~Output() {
    if (format == nullptr) return;
    if (format->pb != nullptr) avio_closep(&format->pb);
    avformat_free_context(format);
    if (!finished_) ::unlink(temporary_.c_str());
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  int open() {
    const int code = avformat_alloc_output_context2(&format, nullptr, "mp4", temporary_.c_str());
    return code < 0 ? code : avio_open(&format->pb, temporary_.c_str(), AVIO_FLAG_WRITE);
  }

  Status finish() {
    const int closed = avio_closep(&format->pb);
    if (closed < 0)
      return fail(ErrorCode::Io, strings::join("cannot write ", path_.string(), " (", reason(closed), ")"));
    std::error_code ec;
    std::filesystem::rename(temporary_, path_, ec);
    if (ec) return fail(ErrorCode::Io, strings::join("cannot write ", path_.string(), " (", ec.message(), ")"));
    finished_ = true;
    return {};
  }

  const std::filesystem::path& path() const { return path_; }
  AVFormatContext* format = nullptr;

 private:
  std::filesystem::path path_;
  std::string temporary_;
  bool finished_ = false;
};

Error io_error(const Output& output, int code) {
  return {ErrorCode::Io, strings::join("cannot write ", output.path().string(), " (", reason(code), ")"),
          "check the folder, its permissions and the free space"};
}

/// Software encoders only: the hardware ones are listed even where the hardware is not there.
Result<const AVCodec*> find_encoder() {
  for (const char* name : {"libx264", "libopenh264"}) {
    if (const AVCodec* codec = avcodec_find_encoder_by_name(name)) return codec;
  }
  const AVCodec* codec = avcodec_find_encoder_by_name("mpeg4");
  if (codec == nullptr) {
    return fail(ErrorCode::Unavailable, "this FFmpeg has neither an H.264 nor an MPEG-4 encoder",
                "install an FFmpeg with libx264, or write frames to a folder");
  }
  log::warning("this FFmpeg has no H.264 encoder; the video is MPEG-4 instead");
  return codec;
}

Result<Codec> open_encoder(const FramesView& frames, const VideoOptions& options, bool global_header) {
  TESSERA_TRY(const AVCodec* found, find_encoder());
  Codec codec(avcodec_alloc_context3(found));
  if (!codec) return fail(ErrorCode::OutOfMemory, "no memory for the video encoder");
  codec->width = static_cast<int>(frames.width);
  codec->height = static_cast<int>(frames.height);
  codec->pix_fmt = AV_PIX_FMT_YUV420P;
  codec->framerate = av_d2q(options.fps, 100000);
  codec->time_base = av_inv_q(codec->framerate);
  codec->color_range = AVCOL_RANGE_MPEG;
  codec->colorspace = AVCOL_SPC_BT709;
  codec->color_primaries = AVCOL_PRI_BT709;
  codec->color_trc = AVCOL_TRC_BT709;
  codec->bit_rate = frames.width * frames.height * 4;  // read where there is no constant-quality mode
  if (global_header) codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  // 18 is where viewers stop seeing a difference to the source; other encoders do not know the option.
  av_opt_set(codec->priv_data, "crf", "18", 0);
  const int code = avcodec_open2(codec.get(), found, nullptr);
  if (code < 0) {
    return fail(ErrorCode::Unavailable, strings::join("the video encoder ", found->name, " refuses ", frames.width, "x",
                                                      frames.height, " (", reason(code), ")"));
  }
  return codec;
}

Scaler rgb_to_yuv(const FramesView& frames) {
  const int width = static_cast<int>(frames.width);
  const int height = static_cast<int>(frames.height);
  Scaler scaler(sws_getContext(width, height, AV_PIX_FMT_RGB24, width, height, AV_PIX_FMT_YUV420P,
                               SWS_BICUBIC | SWS_ACCURATE_RND, nullptr, nullptr, nullptr));
  const int* table = sws_getCoefficients(SWS_CS_ITU709);
  if (scaler) sws_setColorspaceDetails(scaler.get(), table, 1, table, 0, 0, 1 << 16, 1 << 16);
  return scaler;
}

/// Sends one frame (nullptr: the end) and writes what the encoder gives back.
int encode(AVCodecContext* codec, AVFrame* frame, AVPacket* packet, AVFormatContext* format) {
  int code = avcodec_send_frame(codec, frame);
  while (code >= 0) {
    code = avcodec_receive_packet(codec, packet);
    if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return 0;
    if (code < 0) return code;
    packet->duration = 1;  // in the encoder's time base: one frame
    av_packet_rescale_ts(packet, codec->time_base, format->streams[0]->time_base);
    packet->stream_index = 0;
    code = av_interleaved_write_frame(format, packet);
  }
  return code;
}

int encode_all(AVCodecContext* codec, const FramesView& frames, AVFormatContext* format) {
  const Scaler scaler = rgb_to_yuv(frames);
  const Packet packet(av_packet_alloc());
  const Frame frame(av_frame_alloc());
  if (!scaler || !packet || !frame) return AVERROR(ENOMEM);
  frame->format = codec->pix_fmt;
  frame->width = codec->width;
  frame->height = codec->height;
  int code = av_frame_get_buffer(frame.get(), 0);
  const int stride = codec->width * 3;
  for (int64_t i = 0; code >= 0 && i < frames.count; ++i) {
    code = av_frame_make_writable(frame.get());  // the encoder may still hold the last picture
    if (code < 0) break;
    const uint8_t* rgb = frames.frame(i).rgb;
    sws_scale(scaler.get(), &rgb, &stride, 0, codec->height, frame->data, frame->linesize);
    frame->pts = i;
    code = encode(codec, frame.get(), packet.get(), format);
  }
  return code < 0 ? code : encode(codec, nullptr, packet.get(), format);
}

/// Adds the stream and writes the file's head. faststart: the index in front, so that players can begin at once.
int write_head(AVFormatContext* format, const AVCodecContext* codec, const VideoOptions& options) {
  AVStream* stream = avformat_new_stream(format, nullptr);
  if (stream == nullptr) return AVERROR(ENOMEM);
  stream->time_base = codec->time_base;
  stream->avg_frame_rate = codec->framerate;
  if (const int code = avcodec_parameters_from_context(stream->codecpar, codec); code < 0) return code;
  if (!options.comment.empty()) av_dict_set(&format->metadata, "comment", options.comment.c_str(), 0);
  AVDictionary* flags = nullptr;
  av_dict_set(&flags, "movflags", "+faststart", 0);
  const int code = avformat_write_header(format, &flags);
  av_dict_free(&flags);
  return code;
}

Status check(const FramesView& frames, const VideoOptions& options) {
  if (frames.rgb == nullptr || frames.count < 1 || frames.width < 1 || frames.height < 1) {
    return fail(ErrorCode::Misuse, "a video needs at least one frame");
  }
  if (!std::isfinite(options.fps) || options.fps <= 0 || options.fps > 1000) {
    return fail(ErrorCode::Misuse, strings::join("a video cannot have ", options.fps, " frames a second"));
  }
  if (frames.width % 2 != 0 || frames.height % 2 != 0 || frames.width > 16384 || frames.height > 16384) {
    return fail(ErrorCode::Unsupported,
                strings::join("a video of ", frames.width, "x", frames.height, " pixels cannot be an MP4"),
                "sides must be even and at most 16384; write frames to a folder instead");
  }
  return {};
}

}  // namespace

Status write_mp4(const std::filesystem::path& path, const FramesView& frames, const VideoOptions& options) {
  TESSERA_TRY_OK(check(frames, options));
  av_log_set_level(AV_LOG_ERROR);  // the encoder's statistics are no news to our user
  Output output(path);
  if (const int code = output.open(); code < 0) return fail(io_error(output, code));
  TESSERA_TRY(const Codec codec,
              open_encoder(frames, options, (output.format->oformat->flags & AVFMT_GLOBALHEADER) != 0));
  int code = write_head(output.format, codec.get(), options);
  if (code >= 0) code = encode_all(codec.get(), frames, output.format);
  if (code >= 0) code = av_write_trailer(output.format);
  if (code < 0) return fail(io_error(output, code));
  return output.finish();
}

}  // namespace tessera::media
