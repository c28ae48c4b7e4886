import { ValidationError } from '../platform/errors.ts';
import { virusScans } from '../platform/metrics.ts';
import { ScannerUnavailableError, scan } from '../platform/virus-scanner.ts';
import type { Ctx } from './context.ts';
import { transferFile } from './file-transfers.ts';

/** Thrown if the virus scanner finds malware in an uploaded file, or cannot scan it because it is too large. */
export class InfectedFileError extends ValidationError {}

/** The parts of a request that a scan needs. */
type Scanned = Pick<Ctx, 'app' | 'organizationId' | 'viewer'>;

/**
 * Checks an uploaded file with the virus scanner, if one is configured. A file that was not scanned is refused, too. Not in a
 * transaction, because a scan can take a minute. The scans of one account are limited (`transferFile`).
 *
 * @param parameter Name of the parameter that contains the file.
 * @param open Returns the content. Can be called several times.
 * @throws InfectedFileError if the file contains malware, or is larger than the scanner accepts.
 * @throws ScannerUnavailableError if the scanner gives no verdict.
 * @throws RequestTimeoutError if too many scans of the account are waiting.
 */
export async function requireHarmless(
  ctx: Scanned,
  parameter: string,
  open: () => AsyncIterable<Uint8Array>,
): Promise<void> {
  const { app, organizationId, viewer } = ctx;
  const { scanner } = app.config;
  if (scanner === undefined) return;
  try {
    const verdict = await transferFile(ctx, () => scan(scanner, open));
    if (verdict === 'clean') {
      virusScans.inc({ result: 'clean' });
      return;
    }
    if (verdict === 'tooLarge') {
      virusScans.inc({ result: 'too_large' });
      throw new InfectedFileError('The file is too large for the virus scanner.', { parameter });
    }
    const { signature } = verdict;
    virusScans.inc({ result: 'infected' });
    app.log.warn({ organization: organizationId, user_id: viewer.id, signature }, 'infected upload refused');
    throw new InfectedFileError(`The virus scanner found "${signature}" in the file.`, { parameter });
  } catch (error) {
    if (error instanceof ScannerUnavailableError) {
      virusScans.inc({ result: 'unavailable' });
      app.log.error({ err: error.cause }, 'virus scanner unavailable');
    }
    throw error;
  }
}

/** Checks an uploaded avatar, icon or emoji. @see requireHarmless */
export function requireHarmlessImage(ctx: Scanned, image: Uint8Array): Promise<void> {
  return requireHarmless(ctx, 'image', () => whole(image));
}

async function* whole(file: Uint8Array): AsyncGenerator<Uint8Array> {
  yield file;
}
