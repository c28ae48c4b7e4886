import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { type App, signedIn } from '../../access/context.ts';
import { countRefusal } from '../../api/rate-limits.ts';
import type { Web } from '../../api/rest/router.ts';
import { signInBy } from '../../api/sessions.ts';
import { AUDIT_ACTIONS, AUDIT_OBJECT_TYPES } from '../../events/audit.ts';
import type { AuditLogEntry } from '../../generated/prisma/client.ts';
import { Caller } from '../../platform/caller.ts';
import { requireScopes, ValidationError } from '../../platform/errors.ts';
import { type AuditFilter, beginExport, EXPORT_FORMATS, type ExportFormat } from './service.ts';

/** Path of the download. */
export const EXPORT_PATH = '/audit-log/export';

const list = <T>(item: z.ZodType<T, string>) =>
  z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(item));
const id = z
  .string()
  .regex(/^[1-9]\d{0,9}$/)
  .transform(Number)
  .pipe(z.number().max(2_147_483_647));
const time = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

const PARAMETERS = z.strictObject({
  format: z.enum(EXPORT_FORMATS).default('csv'),
  actors: list(id).optional(),
  actions: list(z.enum(AUDIT_ACTIONS)).optional(),
  object_type: z.enum(AUDIT_OBJECT_TYPES).optional(),
  object_id: id.optional(),
  since: time.optional(),
  until: time.optional(),
});

/**
 * Adds the download of the audit log, as CSV or JSON Lines, for administrators. It accepts a session or an API key. The
 * parameters are those of the GraphQL field `auditLogEntries`, in the URL.
 */
export function addAuditLogExport(web: Web, app: App): void {
  web.get(EXPORT_PATH, async ({ req, env: { incoming } }) => {
    const ctx = await viewerOf(app, incoming);
    const { filter, format } = readParameters(req.query());
    const read = await beginExport(ctx, filter, format);
    const name = `audit-log-${app.now().toISOString().slice(0, 10)}.${format}`;
    return new Response(streamOf(read(), format), {
      headers: {
        'Content-Type': format === 'csv' ? 'text/csv; charset=utf-8' : 'application/jsonl; charset=utf-8',
        'Content-Disposition': `attachment; filename="${name}"`,
        'Cache-Control': 'private, no-store',
      },
    });
  });
}

async function viewerOf(app: App, incoming: IncomingMessage) {
  const signingIn = signInBy(app, incoming, { allowBearer: true });
  const request = await signingIn.catch((error: unknown) => countRefusal(app, incoming, error));
  requireScopes(request.viewer, ['read', 'administration']);
  return signedIn({ ...request, caller: new Caller(incoming, app.config.trustedProxies) });
}

function readParameters(query: Record<string, string>): { filter: AuditFilter; format: ExportFormat } {
  const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));
  const parsed = PARAMETERS.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const parameter = String(issue?.path[0] ?? 'query');
    throw new ValidationError(`${parameter}: ${issue?.message}`, { parameter });
  }
  const { format, actors, object_type: objectType, object_id: objectId, ...rest } = parsed.data;
  if (objectId !== undefined && objectType === undefined) {
    throw new ValidationError('object_id: requires object_type', { parameter: 'object_id' });
  }
  const object = objectType === undefined || objectId === undefined ? undefined : { type: objectType, id: objectId };
  return { format, filter: { ...rest, actorIds: actors, objectType, object } };
}

/** Returns the body of a download. It reads a batch of entries when the client has received the previous one. */
function streamOf(batches: AsyncGenerator<readonly AuditLogEntry[]>, format: ExportFormat): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let isStarted = false;
  return new ReadableStream(
    {
      async pull(controller) {
        if (!isStarted && format === 'csv') controller.enqueue(encoder.encode(csvLine(Object.keys(COLUMNS))));
        isStarted = true;
        const { value, done } = await batches.next();
        if (done === true) return controller.close();
        controller.enqueue(encoder.encode(value.map((entry) => lineOf(entry, format)).join('')));
      },
      async cancel() {
        await batches.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Columns of an export, with their values. */
const COLUMNS: Readonly<Record<string, (entry: AuditLogEntry) => unknown>> = {
  id: ({ id }) => Number(id),
  time: ({ createdAt }) => createdAt.toISOString(),
  actor_kind: ({ actorKind }) => actorKind,
  actor_id: ({ actorId }) => actorId,
  action: ({ action }) => action,
  object_type: ({ objectType }) => objectType,
  object_id: ({ objectId }) => objectId,
  object_name: ({ objectName }) => objectName,
  address: ({ address }) => address,
  client: ({ clientName }) => clientName,
  changes: ({ details }) => details,
};

function lineOf(entry: AuditLogEntry, format: ExportFormat): string {
  const values = Object.entries(COLUMNS).map(([name, read]) => [name, read(entry)] as const);
  if (format === 'jsonl') return `${JSON.stringify(Object.fromEntries(values))}\n`;
  return csvLine(values.map(([, value]) => value));
}

const csvLine = (values: readonly unknown[]): string => `${values.map(csvField).join(',')}\r\n`;

/**
 * Returns a field of CSV, quoted as in RFC 4180. An apostrophe precedes texts that spreadsheets would execute as a formula.
 *
 * @see https://owasp.org/www-community/attacks/CSV_Injection
 */
function csvField(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
