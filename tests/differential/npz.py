"""Arrays of .npz files, without numpy: shape, type and a flat list of numbers."""
import array
import ast
import collections
import math
import struct
import zipfile

Array = collections.namedtuple("Array", "shape descr data")  # data: bytes

_FORMATS = {"<f8": "d", "<f4": "f", "<i8": "q", "<i4": "i", "|b1": "B", "|u1": "B", "|i1": "b", "<i2": "h", "<u2": "H"}


def parse(blob):
    if blob[:6] != b"\x93NUMPY":
        raise ValueError("not an array")
    major = blob[6]
    size = struct.unpack_from("<H" if major == 1 else "<I", blob, 8)[0]
    start = 10 if major == 1 else 12
    header = ast.literal_eval(blob[start:start + size].decode("latin1"))
    data = blob[start + size:]
    if header["fortran_order"] and len(header["shape"]) > 1:
        raise ValueError("column-major arrays are not read")
    return Array(tuple(header["shape"]), header["descr"], data)


def load(path):
    with zipfile.ZipFile(path) as archive:
        return {name[:-4]: parse(archive.read(name)) for name in archive.namelist() if name.endswith(".npy")}


def blob_of(one):
    header = repr({"descr": one.descr, "fortran_order": False, "shape": tuple(one.shape)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("latin1") + one.data


def save(path, arrays):
    with zipfile.ZipFile(path, "w") as archive:
        for name, one in arrays.items():
            archive.writestr(name + ".npy", blob_of(one))


def numbers(one):
    values = array.array(_FORMATS[one.descr])
    values.frombytes(one.data[:values.itemsize * math.prod(one.shape)])
    return values


def zeros(shape, descr):
    return Array(tuple(shape), descr, bytes(math.prod(shape) * array.array(_FORMATS[descr]).itemsize))
