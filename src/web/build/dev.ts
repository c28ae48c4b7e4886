// npm run dev:web: serves the page from its sources with hot updates, in front of a service at another URL (SERVICE).
import { watch } from 'node:fs';
import { createServer } from 'vite';
import { writeDocuments } from './documents.ts';
import { viteConfig } from './vite.ts';

const { SERVICE: service = 'http://127.0.0.1:4000', WEB_PORT: port = '4173' } = process.env;

await writeDocuments();
// The proxy keeps the Host header of the page, so that the service treats the page as one of its own site.
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
