import { ConflictError, NotFoundError } from '../../platform/errors.ts';

/** Error for adding a reaction if the viewer has already reacted to the message with the same emoji. */
export class ReactionAlreadyExistsError extends ConflictError {
  override readonly code = 'REACTION_ALREADY_EXISTS';

  constructor() {
    super('Reaction already exists.', { parameter: 'emoji_name' });
  }
}

/** Error for the removal of a reaction that the viewer does not have on the message. */
export class ReactionDoesNotExistError extends NotFoundError {
  override readonly code = 'REACTION_DOES_NOT_EXIST';

  /** @param parameter Parameter with the emoji. */
  constructor(parameter: 'emoji_code' | 'emoji_name') {
    super("Reaction doesn't exist.", {
      type: 'Reaction',
      parameter,
      schemaMessage: 'You have not reacted to the message with this emoji.',
    });
  }
}
