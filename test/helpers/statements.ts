import type { App } from '../../src/access/context.ts';
import type { RowReader } from '../../src/platform/db/pg-rows.ts';
import { driverOf, knowDriver } from '../../src/platform/db/rows.ts';

/**
 * Makes `around` execute each SQL statement by calling `run`. Statements of the ORM and statements within a transaction are
 * executed without `around`.
 *
 * @returns A function that ends this.
 */
export function aroundStatements(
  { db }: Pick<App, 'db'>,
  around: <T>(run: () => Promise<T>, sql: string, values: readonly unknown[]) => Promise<T>,
): () => void {
  const driver = driverOf(db);
  const read = driver?.reader();
  if (driver === undefined || read === undefined) throw new Error('The client is not connected');
  const reader: RowReader = <Row>(text: string, values: readonly unknown[]) =>
    around(() => read<Row>(text, values), text, values);
  knowDriver(db, { ...driver, reader: () => reader });
  return () => knowDriver(db, driver);
}
