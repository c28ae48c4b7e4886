import { type Runtime, Session } from 'node:inspector/promises';

/** Name of the global variable through which `emptyCaches` passes the prototypes of the caches to the inspector. */
const GLOBAL = 'fuzzPrototypes';

/**
 * Empties the bounded caches of this process, as the service itself does if they are full: the least recently used entries are
 * evicted, and the log tails release their events. The inspector finds the caches by their classes, so the service needs no list
 * of them, and a cache that is added later is included.
 *
 * @throws Error if Prisma's cache of query plans is not found, because it would then count as growth.
 */
export async function emptyCaches(): Promise<void> {
  // Imported here, because the service must be the first to import its own modules.
  const [{ LRUCache }, { LogTail }, { PrismaClient }] = await Promise.all([
    import('lru-cache'),
    import('../../src/events/log-tail.ts'),
    import('../../src/generated/prisma/client.ts'),
  ]);
  const session = new Session();
  session.connect();
  Reflect.set(globalThis, GLOBAL, [LRUCache.prototype, LogTail.prototype, PrismaClient.prototype]);
  try {
    // `clear` would not run the callbacks of an eviction.
    await onAll(session, 0, 'function () { for (const cache of this) while (cache.size > 0) cache.pop(); }');
    await onAll(session, 1, 'function () { for (const tail of this) tail.letGo(); }');
    const engines = await onAll(session, 2, 'function () { return this.map((client) => client._engine); }');
    await emptyPlanCaches(session, engines);
  } finally {
    Reflect.deleteProperty(globalThis, GLOBAL);
    session.disconnect();
  }
}

/**
 * Calls a function on the array of all objects with one of the prototypes.
 *
 * @returns The inspector's id of the result. Undefined if the result is not an object.
 */
async function onAll(session: Session, index: number, functionDeclaration: string): Promise<string | undefined> {
  const prototype = await session.post('Runtime.evaluate', { expression: `globalThis.${GLOBAL}[${index}]` });
  const { objectId: prototypeObjectId = '' } = prototype.result;
  const { objects } = await session.post('Runtime.queryObjects', { prototypeObjectId });
  return await call(session, objects.objectId, functionDeclaration);
}

async function call(
  session: Session,
  objectId: string | undefined,
  functionDeclaration: string,
): Promise<string | undefined> {
  const { result, exceptionDetails } = await session.post('Runtime.callFunctionOn', { objectId, functionDeclaration });
  if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.objectId;
}

/** Empties the caches of query plans of Prisma's engines. They are private properties, without a method of the client. */
async function emptyPlanCaches(session: Session, engines: string | undefined): Promise<void> {
  const isPlanCache = 'function () { return typeof this.getSingle === "function" && [] || undefined; }';
  let emptied = 0;
  for (const engine of await propertiesOf(session, engines)) {
    for (const property of await propertiesOf(session, engine)) {
      if ((await call(session, property, isPlanCache)) === undefined) continue;
      await call(session, property, 'function () { this.clear(); }');
      emptied++;
    }
  }
  if (emptied === 0) throw new Error('The cache of query plans of Prisma was not found');
}

type Properties = Runtime.GetPropertiesReturnType & {
  readonly privateProperties?: readonly Pick<Runtime.PropertyDescriptor, 'value'>[];
};

/** Returns the inspector's ids of the objects in the own properties of an object, private ones included. */
async function propertiesOf(session: Session, objectId: string | undefined): Promise<string[]> {
  if (objectId === undefined) return [];
  // The types of Node lack `privateProperties`.
  const { result, privateProperties = [] }: Properties = await session.post('Runtime.getProperties', {
    objectId,
    ownProperties: true,
  });
  return [...result, ...privateProperties].flatMap(({ value }) =>
    value?.type === 'object' && value.objectId !== undefined ? [value.objectId] : [],
  );
}
