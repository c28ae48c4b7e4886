import { globSync, readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { extname, join } from 'node:path';
import { applicationHeaders } from '../../api/html.ts';
import type { Web } from '../../api/rest/router.ts';
import { fileAnswer, type SharedFile, sharedFile } from '../../api/shared-file.ts';

/** Folder of the built chat, which `npm run generate` makes from `src/web`. */
const BUILT = join(import.meta.dirname, '../../generated/web');

/**
 * First path segments that belong to the chat. All paths that begin with one of them serve the same page. The page selects the
 * view by the path (`src/web/routing/routes.ts`).
 */
const CHAT_PATHS = [
  'sign-in',
  'inbox',
  'channels',
  'direct',
  'views',
  'search',
  'messages',
  'writing',
  'settings',
  'people',
] as const;

/** Files that make the chat installable as an application. Browsers require the service worker to be at the root. */
const APPLICATION_FILES = [
  'manifest.webmanifest',
  'service-worker.js',
  'icon-192.png',
  'icon-512.png',
  'icon-maskable.png',
];

/** Returns whether a path belongs to the page of the chat, or to the application that browsers install. */
export const isChatPath = (path: string): boolean =>
  path === '/' ||
  CHAT_PATHS.some((name) => path === `/${name}` || path.startsWith(`/${name}/`)) ||
  APPLICATION_FILES.some((name) => path === `/${name}`);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.png': 'image/png',
  '.webmanifest': 'application/manifest+json',
};

/** The service worker can send requests to this server only. */
const WORKER_POLICY = { 'Content-Security-Policy': "default-src 'none'; connect-src 'self'" };

/** Content codings, each with the file name extension of the copies that are compressed with it. */
const ENDINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/** A file of the built chat. */
interface BuiltFile {
  readonly type: string;
  readonly file: SharedFile;
}

/**
 * Adds the routes of the chat: the page, at `/` and at all other paths of the chat, and the assets. Browsers revalidate the
 * page for each request. They cache assets without asking again, because the name of an asset changes with its content.
 */
export function addChat(web: Web): void {
  let files: ReadonlyMap<string, BuiltFile> | undefined;
  let headers: Readonly<Record<string, string>> | undefined;
  const built = () => {
    files ??= readBuilt();
    return files;
  };
  const pages = ['/', ...CHAT_PATHS.flatMap((path) => [`/${path}`, `/${path}/*`])];
  for (const path of pages) {
    web.get(path, ({ env: { incoming } }) => {
      const index = builtFile(built(), 'index.html');
      headers ??= applicationHeaders(Buffer.from(index.file.bytes).toString());
      return answer(index, incoming.headers, { ...headers, 'Cache-Control': 'no-cache' });
    });
  }
  for (const name of APPLICATION_FILES) {
    web.get(`/${name}`, ({ env: { incoming } }) => {
      const policy = name === 'service-worker.js' ? WORKER_POLICY : {};
      return answer(builtFile(built(), name), incoming.headers, { ...policy, 'Cache-Control': 'no-cache' });
    });
  }
  web.get('/assets/:name', (context) => {
    const file = built().get(`assets/${context.req.param('name')}`);
    if (file === undefined) return context.notFound();
    const forEver = { 'Cache-Control': 'public, max-age=31536000, immutable' };
    return answer(file, context.env.incoming.headers, forEver);
  });
}

function readBuilt(): ReadonlyMap<string, BuiltFile> {
  const names = globSync('**/*.*', { cwd: BUILT }).map((name) => name.replaceAll('\\', '/'));
  const read = (name: string) => readFileSync(join(BUILT, name));
  const built = (name: string): BuiltFile => {
    const compressed = ENDINGS.filter(([, ending]) => names.includes(name + ending));
    const file = sharedFile(
      read(name),
      compressed.map(([coding, ending]) => [coding, read(name + ending)]),
    );
    return { type: TYPES[extname(name)] ?? 'application/octet-stream', file };
  };
  return new Map(names.filter((name) => !/\.(br|gz)$/.test(name)).map((name) => [name, built(name)]));
}

function builtFile(files: ReadonlyMap<string, BuiltFile>, name: string): BuiltFile {
  const file = files.get(name);
  if (file === undefined) throw new Error('The chat is not built: run "npm run generate"');
  return file;
}

const answer = (
  { type, file }: BuiltFile,
  asking: IncomingHttpHeaders,
  headers: Readonly<Record<string, string>>,
): Promise<Response> => fileAnswer(file, asking, { ...headers, 'Content-Type': type });
