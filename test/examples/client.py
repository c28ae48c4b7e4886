"""Prints every message, without missing any: python3 client.py http://127.0.0.1:4000 iris@example.com:HER_API_KEY"""
import base64, json, sys, time
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

url, login = sys.argv[1:3]
headers = {"Authorization": "Basic " + base64.b64encode(login.encode()).decode()}


def call(method, path, **fields):
    query = urlencode(fields)
    address = f"{url}/api/v1{path}" + (f"?{query}" if method == "GET" else "")
    with urlopen(Request(address, None if method == "GET" else query.encode(), headers, method=method), timeout=90) as reply:
        return json.load(reply)


# Register: one response contains a queue for all events from here on, and the state at that position.
state = call("POST", "/register", event_types='["message"]', fetch_event_types='["subscription"]')
print("You see " + ", ".join(channel["name"] for channel in state["subscriptions"]), flush=True)
last = state["last_event_id"]

# Listen. If the connection breaks, listen again after the last event: the queue keeps events meanwhile.
while True:
    try:
        events = call("GET", "/events", queue_id=state["queue_id"], last_event_id=last)["events"]
    except (URLError, ConnectionError, TimeoutError) as error:
        if isinstance(error, HTTPError) and error.code < 500:
            raise  # The queue expired, unread for ten minutes: start over.
        time.sleep(1)
        continue
    for event in events:
        last = event["id"]
        if event["type"] == "message":
            print(f'{event["message"]["sender_full_name"]}: {event["message"]["content"]}', flush=True)
