import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { fileAnswer, type SharedFile, sharedFile } from '../../api/shared-file.ts';

/** A file that browsers can cache without asking again, because its URL contains a hash of its content. */
interface GraphiQLFile {
  readonly type: string;
  /** The first 16 hexadecimal digits of the SHA-256 of the content. */
  readonly hash: string;
  readonly file: SharedFile;
}

/** The files of GraphiQL, nine megabytes in total. They do not depend on the user. */
export interface GraphiQLFiles {
  readonly script: GraphiQLFile;
  readonly style: GraphiQLFile;
}

let made: Promise<GraphiQLFiles> | undefined;

/** Returns the files of GraphiQL. They are created at the first call, because most services never show GraphiQL. */
export function graphiqlFiles(): Promise<GraphiQLFiles> {
  made ??= make().catch((error: unknown) => {
    made = undefined;
    throw error;
  });
  return made;
}

const PREFIX = '/graphiql/';
/** Route pattern of the GraphiQL files. */
export const GRAPHIQL_FILE_ROUTE = `${PREFIX}:hash{[0-9a-f]+}/:name{graphiql[.](js|css)}`;

export const scriptPath = ({ script }: GraphiQLFiles): string => `${PREFIX}${script.hash}/graphiql.js`;
export const stylePath = ({ style }: GraphiQLFiles): string => `${PREFIX}${style.hash}/graphiql.css`;

/**
 * Returns a response with the GraphiQL file at a path. Undefined if the path contains another hash, such as the hash of a
 * previous version.
 */
export async function graphiqlFileAnswer(path: string, asking: IncomingHttpHeaders): Promise<Response | undefined> {
  const files = await graphiqlFiles();
  const found = { [scriptPath(files)]: files.script, [stylePath(files)]: files.style }[path];
  if (found === undefined) return undefined;
  return fileAnswer(found.file, asking, {
    'Content-Type': found.type,
    'Cache-Control': 'public, max-age=31536000, immutable',
    'Cross-Origin-Resource-Policy': 'same-origin',
  });
}

/** Extracts the script and the style of GraphiQL from the page of its npm package, in which they are inline. */
async function make(): Promise<GraphiQLFiles> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const html = renderGraphiQL({ title: 'GraphiQL' });
  const root = html.indexOf('<div id="root"></div>');
  return {
    style: fileOf('text/css; charset=utf-8', between(html, { from: '<style', after: 0, to: '</style>' })),
    script: fileOf(
      'text/javascript; charset=utf-8',
      between(html, { from: '<script>', after: root, to: 'YogaGraphiQL.renderYogaGraphiQL(' }),
    ),
  };
}

function fileOf(type: string, text: string): GraphiQLFile {
  return { type, hash: createHash('sha256').update(text).digest('hex').slice(0, 16), file: sharedFile(text) };
}

/**
 * Returns the text after the first tag that begins with `from` at or after the position `after`, up to the last `to`.
 *
 * @throws Error if the page has another structure.
 */
function between(html: string, { from, after, to }: { from: string; after: number; to: string }): string {
  const opening = html.indexOf(from, after);
  const start = html.indexOf('>', opening) + 1;
  const end = html.lastIndexOf(to);
  if (after === -1 || opening === -1 || end < start) throw new Error('The page of GraphiQL has an unknown structure');
  return html.slice(start, end);
}
