"""Makes thumbnails of uploaded pictures, a few a second, and tries again when the storage is away."""

import io

from courier import Courier, RetryPolicy
from courier.middleware import Timing

app = Courier("pictures", broker="redis://localhost/0", concurrency=8)
app.middleware.add(Timing())

STORAGE_TROUBLE = RetryPolicy(attempts=6, base=5.0, on=(ConnectionError, TimeoutError))


@app.task(queue="pictures", retry=STORAGE_TROUBLE, rate="20/s", time_limit=30)
def make_thumbnail(key, width=320):
    from PIL import Image

    picture = Image.open(io.BytesIO(storage().read(key)))
    picture.thumbnail((width, width))
    out = io.BytesIO()
    picture.save(out, "WEBP")
    storage().write(f"thumbnails/{width}/{key}", out.getvalue())


@app.signals.on("task_failed")
def tell_somebody(message, error):
    print(f"{message.task} failed for good: {error}")


def storage():
    from myshop.storage import bucket

    return bucket("pictures")


if __name__ == "__main__":
    for key in ["cat.jpg", "dog.jpg"]:
        make_thumbnail.later(key)
