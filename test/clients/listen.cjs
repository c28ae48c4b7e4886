// Listens with the client's own loop, which never ends. The parent process kills this one.
const start = require('zulip-js');

const { REALM, USERNAME, API_KEY } = process.env;
start({ realm: REALM, username: USERNAME, apiKey: API_KEY }).then((client) =>
  client.callOnEachEvent((event) => console.log(JSON.stringify(event)), ['message', 'reaction']),
);
