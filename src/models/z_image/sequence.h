// How Z-Image lays tokens out: patches of the picture, learned padding, positions, and rows of different lengths.
#pragma once

#include "tensor/aten.h"

#include "models/z_image/block.h"

namespace tessera::models {

/// [C, 1, h, w] → [(h/2)(w/2), 4C], channels last within a patch.
at::Tensor z_image_patches(const at::Tensor& latents);

/// The inverse for the first (h/2)(w/2) tokens.
at::Tensor z_image_unpatch(const at::Tensor& tokens, int64_t height, int64_t width);

/// Repeats the last token until the count is a multiple of 32; the repeats are overwritten after the embedding.
at::Tensor z_image_pad(const at::Tensor& tokens);

/// Positions of the caption's tokens, (1 + i, 0, 0), then (0, 0, 0) once more for every padding token.
/// `tokens`: without padding. Returns: [padded + padding, 3] float32, longer than the padded caption as in the
/// reference, which uses the first rows.
at::Tensor z_image_caption_ids(int64_t tokens);

/// Positions of the picture's tokens, (frame, row, column), and (0, 0, 0) for padding. [padded, 3] float32
at::Tensor z_image_picture_ids(int64_t rows, int64_t columns, int64_t frame);

/// Rows padded with zeros to the longest and put on top of each other: [B, S, …].
at::Tensor z_image_stack(const std::vector<at::Tensor>& rows);

/// A batch of rows, each cut to its length, with key lengths where they differ.
struct ZImageRows {
  std::vector<at::Tensor> tokens;    ///< [S_i, D]
  std::vector<at::Tensor> rotation;  ///< [≥ S_i, head/2]
};
ZImageSequence z_image_sequence(const ZImageRows& rows);

}  // namespace tessera::models
