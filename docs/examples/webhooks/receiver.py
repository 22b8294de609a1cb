# A receiver with Python's standard library.
# WEBHOOK_SECRET=whsec_... PORT=8080 python3 receiver.py
import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer



def key_of(secret: str) -> bytes:
    # With an empty or damaged secret, messages of anybody would be valid.
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = b""
    if len(key) < 24:
        sys.exit("WEBHOOK_SECRET: must be the secret of the webhook, whsec_ and at least 24 bytes in base64")
    return key


KEY = key_of(os.environ.get("WEBHOOK_SECRET", ""))
TOLERANCE_SECONDS = 300
# The ids of messages that were handled. Keep them in your database, in the transaction that handles the message.
handled = set()


def is_valid(headers, body: bytes) -> bool:
    try:
        sent_at = int(headers["webhook-timestamp"])
    except (TypeError, ValueError):
        return False
    if abs(time.time() - sent_at) > TOLERANCE_SECONDS:
        return False
    content = f"{headers['webhook-id']}.{sent_at}.".encode() + body
    expected = base64.b64encode(hmac.new(KEY, content, hashlib.sha256).digest()).decode()
    # While a secret is rotated there are two signatures.
    given = (each.partition(",") for each in (headers["webhook-signature"] or "").split(" "))
    return any(version == "v1" and hmac.compare_digest(signature.encode(), expected.encode()) for version, _, signature in given)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not is_valid(self.headers, body):
            self.send_error(400, "the signature is not valid")
            return
        if self.headers["webhook-id"] not in handled:
            handled.add(self.headers["webhook-id"])
            message = json.loads(body)
            print(message["type"], json.dumps(message["data"]), flush=True)
        # Answer at once, and do what takes long afterwards.
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver)
print("ready", json.dumps({"port": server.server_address[1]}), flush=True)
server.serve_forever()
