"""Writes the two tokenizer folders in the published forms: CLIP's byte pairs and T5's SentencePiece unigrams."""
import io
import json
import re
from collections import Counter
from pathlib import Path

import sentencepiece as spm
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import Unigram

from catalog import COLOURS, subjects
from prompts import spellings

START, END = "<|startoftext|>", "<|endoftext|>"
MERGES, PIECES, EXTRA_IDS = 1200, 1400, 100


def corpus():
    return [text for _, name in subjects() for colour in COLOURS for text in spellings(name, colour)]


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def token(content, normalized=False):
    return {"content": content, "lstrip": False, "normalized": normalized, "rstrip": False, "single_word": False}


def byte_alphabet():
    """The printable characters that byte-level vocabularies use for the 256 bytes."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in printable]
    return dict(zip(printable + rest, map(chr, printable + [256 + n for n in range(len(rest))])))


def merge(word, pair):
    out = []
    for symbol in word:
        if out and (out[-1], symbol) == pair:
            out[-1] += symbol
        else:
            out.append(symbol)
    return tuple(out)


def byte_pairs(words, count):
    """Plain byte-pair encoding; ties go to the smallest pair, so the result is fixed."""
    merges = []
    while len(merges) < count:
        pairs = Counter()
        for word, n in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += n
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        merges.append(best)
        words = {merge(word, best): n for word, n in words.items()}
    return merges


def write_clip(folder):
    alphabet = byte_alphabet()
    words = Counter()
    for text in corpus():
        for word in re.findall(r"[a-z]+|[0-9]|[^\sa-z0-9]+", text.lower()):
            symbols = [alphabet[b] for b in word.encode()]
            words[tuple(symbols[:-1]) + (symbols[-1] + "</w>",)] += 1
    merges = byte_pairs(words, MERGES)
    letters = list(alphabet.values())
    vocab = letters + [c + "</w>" for c in letters] + ["".join(m) for m in merges] + [START, END]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(vocab)}, ensure_ascii=False),
                                       encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges), encoding="utf-8")
    write_json(folder / "special_tokens_map.json", {
        "bos_token": token(START, True), "eos_token": token(END), "pad_token": END, "unk_token": token(END)})
    added = {str(len(vocab) - 2): token(START, True) | {"special": True},
             str(len(vocab) - 1): token(END) | {"special": True}}
    write_json(folder / "tokenizer_config.json", {
        "add_prefix_space": False, "added_tokens_decoder": added, "bos_token": START,
        "clean_up_tokenization_spaces": True, "do_lower_case": True, "eos_token": END, "errors": "replace",
        "model_max_length": 77, "pad_token": END, "tokenizer_class": "CLIPTokenizer", "unk_token": END})
    return len(vocab)


def train_pieces():
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()), model_writer=model, model_type="unigram", vocab_size=PIECES,
        character_coverage=1.0, hard_vocab_limit=False, num_threads=1, shuffle_input_sentence=False, minloglevel=2,
        normalization_rule_name="nmt_nfkc", pad_id=0, eos_id=1, unk_id=2, bos_id=-1, pad_piece="<pad>")
    return model.getvalue()


def fast_tokenizer(proto, extras):
    """The same vocabulary as tokenizer.json, with the last extra id first, as T5 has it."""
    special = {p.piece for p in proto.pieces if p.type in (2, 3)}
    vocab = [(p.piece, 0.0 if p.piece in special else p.score) for p in proto.pieces]
    tok = Tokenizer(Unigram(vocab + [(t, 0.0) for t in reversed(extras)], unk_id=2, byte_fallback=False))
    tok.normalizer = normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap)
    metaspace = dict(replacement="▁", prepend_scheme="always")
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(**metaspace)])
    tok.decoder = decoders.Metaspace(**metaspace)
    tok.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>",
                                                       special_tokens=[("</s>", 1)])
    tok.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in ["<pad>", "</s>", "<unk>", *extras]])
    return tok


def write_t5(folder):
    model = train_pieces()
    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    extras = [f"<extra_id_{i}>" for i in range(EXTRA_IDS)]
    tok = fast_tokenizer(proto, extras)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spiece.model").write_bytes(model)
    tok.save(str(folder / "tokenizer.json"))
    names = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    write_json(folder / "special_tokens_map.json",
               {"additional_special_tokens": extras, **{k: token(v) for k, v in names.items()}})
    ids = sorted((tok.token_to_id(t), t) for t in ["<pad>", "</s>", "<unk>", *extras])
    write_json(folder / "tokenizer_config.json", {
        "added_tokens_decoder": {str(i): token(t) | {"special": True} for i, t in ids},
        "additional_special_tokens": extras, "clean_up_tokenization_spaces": True, **names, "extra_ids": EXTRA_IDS,
        "legacy": True, "model_max_length": 512, "sp_model_kwargs": {}, "tokenizer_class": "T5Tokenizer"})
    return tok.get_vocab_size()


def write_both(model_folder):
    return write_clip(Path(model_folder) / "tokenizer"), write_t5(Path(model_folder) / "tokenizer_2")
