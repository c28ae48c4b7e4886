// npm run dev:web: the page from the sources, each change at once, before a service that runs elsewhere (SERVICE).
import { watch } from 'node:fs';
import { createServer } from 'vite';
import { writeDocuments } from './documents.ts';
import { viteConfig } from './vite.ts';

const { SERVICE: service = 'http://127.0.0.1:4000', WEB_PORT: port = '4173' } = process.env;

await writeDocuments();
// The Host stays that of the page, so that the service takes both for one site.
const proxied = Object.fromEntries(
  ['/graphql', '/api', '/avatar', '/user_avatars', '/static', '/start'].map((path) => [
    path,
    { target: service, ws: true },
  ]),
);
const server = await createServer({ ...viteConfig, server: { port: Number(port), proxy: proxied } });
await server.listen();
server.printUrls();
watch(`${import.meta.dirname}/..`, { recursive: true }, (_, file) => {
  if (file?.endsWith('.graphql')) writeDocuments().catch((error: unknown) => console.error(String(error)));
});
