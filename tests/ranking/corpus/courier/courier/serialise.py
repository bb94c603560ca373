"""Arguments to bytes and back, by content type."""

import json
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from courier.errors import CannotDecode

_BY_NAME = {}
_BY_TYPE = {}


def register(name, content_type, encode, decode):
    """Makes a pair of functions available under a name and a content type."""
    _BY_NAME[name] = (content_type, encode)
    _BY_TYPE[content_type] = decode


def dumps(value, name):
    """Content type and bytes of `value` in the serialiser called `name`."""
    content_type, encode = _BY_NAME[name]
    return content_type, encode(value)


def loads(content_type, body):
    """The value that `dumps` was given; whatever goes wrong is a `CannotDecode`."""
    decode = _BY_TYPE.get(content_type)
    if decode is None:
        raise CannotDecode(f"nothing reads {content_type}")
    try:
        return decode(body)
    except ValueError as error:
        raise CannotDecode(str(error)) from error


def _tagged(value):
    """JSON has no dates, decimals or sets; they travel as one-key objects."""
    if isinstance(value, datetime):
        return {"$datetime": value.isoformat()}
    if isinstance(value, date):
        return {"$date": value.isoformat()}
    if isinstance(value, Decimal):
        return {"$decimal": str(value)}
    if isinstance(value, UUID):
        return {"$uuid": value.hex}
    if isinstance(value, (set, frozenset)):
        return {"$set": sorted(value)}
    raise TypeError(f"{type(value).__name__} cannot be sent as JSON")


_UNTAG = {
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$decimal": Decimal,
    "$uuid": UUID,
    "$set": set,
}


def _untagged(fields):
    if len(fields) == 1:
        (key, value), = fields.items()
        if key in _UNTAG:
            return _UNTAG[key](value)
    return fields


register(
    "json",
    "application/json",
    lambda value: json.dumps(value, default=_tagged).encode(),
    lambda body: json.loads(body, object_hook=_untagged),
)

try:
    import msgpack
except ImportError:
    pass
else:
    register("msgpack", "application/msgpack", msgpack.packb, msgpack.unpackb)
