import { brandWithType, decodeBase64 } from '@pothos/core';
import type { Ctx } from '../../access/context.ts';
import { signedIn } from '../../access/context.ts';
import { ChatError, type ErrorCode } from '../../platform/errors.ts';
import { builder } from './builder.ts';

type Access = (ctx: Ctx, id: number) => Promise<object>;

interface NodeType {
  readonly access: Access;
  readonly maxId: number;
}

const types = new Map<string, NodeType>();

const MAX_INT4 = 2_147_483_647;

/**
 * Lets `node(id)` find the type's objects, by the feature's own `accessX`: what that refuses is null. A node type that
 * is not named here cannot be loaded by id at all.
 *
 * @param maxId The largest id a row of the type can have.
 */
export function nodeAccess(typename: string, access: Access, maxId: number = MAX_INT4): void {
  types.set(typename, { access, maxId });
}

/** The integer id in the text of a global id; undefined when no row can have it. */
function parseId(text: string | undefined, maxId: number): number | undefined {
  if (text === undefined || !/^[1-9]\d{0,15}$/.test(text)) return undefined;
  const id = Number(text);
  return id <= maxId ? id : undefined;
}

function parseGlobalId(globalId: string): readonly string[] {
  try {
    return decodeBase64(globalId).split(':');
  } catch {
    return [];
  }
}

/** What a feature says of an object that is not there, or not for the viewer. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['BAD_REQUEST', 'STREAM_DOES_NOT_EXIST', 'UNAUTHORIZED_PRINCIPAL']);

const isRefusal = (error: unknown) => error instanceof ChatError && REFUSALS.has(error.code);

async function loadNode(ctx: Ctx, globalId: string): Promise<object | null> {
  const [typename = '', text, ...rest] = parseGlobalId(globalId);
  const type = types.get(typename);
  const id = type === undefined ? undefined : parseId(text, type.maxId);
  if (type === undefined || id === undefined || rest.length > 0) return null;
  try {
    const row = await type.access(ctx, id);
    brandWithType(row, typename as never);
    return row;
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

builder.queryField('node', (t) =>
  t.field({
    type: builder.nodeInterfaceRef(),
    nullable: true,
    description: 'The object with this global id; null when there is none, or none the viewer may see.',
    args: { id: t.arg.id() },
    resolve: (_root, { id }, ctx) => loadNode(signedIn(ctx), String(id)) as never,
  }),
);
