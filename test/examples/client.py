"""Prints every message, and misses none: python3 client.py http://127.0.0.1:4000 iris@example.com:HER_API_KEY"""
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


# Register: in one reply a queue for all that happens from here on, and the state that it begins with.
state = call("POST", "/register", event_types='["message"]', fetch_event_types='["subscription"]')
print("You see " + ", ".join(channel["name"] for channel in state["subscriptions"]), flush=True)
last = state["last_event_id"]

# Listen; and when the connection breaks, again, after the last event: the queue has kept what came meanwhile.
while True:
    try:
        events = call("GET", "/events", queue_id=state["queue_id"], last_event_id=last)["events"]
    except (URLError, ConnectionError, TimeoutError) as error:
        if isinstance(error, HTTPError) and error.code < 500:
            raise  # The queue is gone, unread for ten minutes: start over.
        time.sleep(1)
        continue
    for event in events:
        last = event["id"]
        if event["type"] == "message":
            print(f'{event["message"]["sender_full_name"]}: {event["message"]["content"]}', flush=True)
