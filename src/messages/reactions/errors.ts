import { defineError } from '../../platform/errors.ts';

/** The viewer has this emoji on the message already. */
export class ReactionAlreadyExistsError extends defineError('REACTION_ALREADY_EXISTS', () => ({
  message: 'Reaction already exists.',
})) {}

/** The viewer has no such emoji on the message. */
export class ReactionDoesNotExistError extends defineError('REACTION_DOES_NOT_EXIST', () => ({
  message: "Reaction doesn't exist.",
})) {}
