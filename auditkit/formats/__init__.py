"""Files in and out: formats by suffix, streams of records, lossless writing, digests."""

from auditkit.formats.batch import Layout, RecordBatch
from auditkit.formats.digest import digest_data, digest_file, digest_source, source_path
from auditkit.formats.naming import (
    bare_name,
    decontaminated_files,
    detect_format,
    is_saved_dataset,
    is_saved_dataset_dict,
)
from auditkit.formats.reading import pieces, read_records
from auditkit.formats.writing import RecordWriter, open_writer

__all__ = [
    "Layout",
    "RecordBatch",
    "RecordWriter",
    "bare_name",
    "decontaminated_files",
    "detect_format",
    "digest_data",
    "digest_file",
    "digest_source",
    "is_saved_dataset",
    "is_saved_dataset_dict",
    "open_writer",
    "pieces",
    "read_records",
    "source_path",
]
