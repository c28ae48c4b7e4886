import { brandWithType, decodeBase64 } from '@pothos/core';
import type { Ctx } from '../app.ts';
import { signedIn } from '../app.ts';
import { BadRequestError, ChannelDoesNotExistError, UnauthorizedPrincipalError } from '../errors.ts';
import { builder } from './builder.ts';

type Access = (ctx: Ctx, id: number) => Promise<object>;

const accessOf = new Map<string, Access>();

/**
 * Lets `node(id)` find the type's objects, by the room's own `accessX`: whatever that refuses is absent. A node type
 * that is not named here cannot be loaded by id at all.
 */
export function nodeAccess(typename: string, access: Access): void {
  accessOf.set(typename, access);
}

const MAX_INT4 = 2_147_483_647;

/** The integer id in the text of a global id; undefined when no row can have it. */
function parseId(text: string | undefined): number | undefined {
  if (text === undefined || !/^[1-9]\d{0,9}$/.test(text)) return undefined;
  const id = Number(text);
  return id <= MAX_INT4 ? id : undefined;
}

function parseGlobalId(globalId: string): readonly string[] {
  try {
    return decodeBase64(globalId).split(':');
  } catch {
    return [];
  }
}

const isRefusal = (error: unknown) =>
  error instanceof BadRequestError ||
  error instanceof ChannelDoesNotExistError ||
  error instanceof UnauthorizedPrincipalError;

async function loadNode(ctx: Ctx, globalId: string): Promise<object | null> {
  const [typename = '', text, ...rest] = parseGlobalId(globalId);
  const [access, id] = [accessOf.get(typename), parseId(text)];
  if (access === undefined || id === undefined || rest.length > 0) return null;
  try {
    const row = await access(ctx, id);
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
