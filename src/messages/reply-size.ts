import { ValidationError } from '../platform/errors.ts';

/**
 * Maximum total size of the texts in one response, in bytes. A longer page is cut. Messages requested by id that exceed it are
 * refused with `ValidationError`. Five thousand messages of the usual length fit. The HTML of a message can be a hundred times
 * as long as usual. Five thousand such messages would exceed the memory of the process.
 *
 * A message needs at most a third of this size: 4 MiB for its versions (`TOTALS.versions_per_message_total_bytes`), and its
 * reactions. So a page always has space for the anchor and for one message on each side of the anchor.
 */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024;

/** Returns the error for requested messages that do not fit into one response. */
export const tooLarge = () => new ValidationError('The messages are too large for one reply. Request fewer.');
