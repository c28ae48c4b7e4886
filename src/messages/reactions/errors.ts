import { defineError } from '../../platform/errors.ts';

/** The viewer has already reacted to the message with this emoji. */
export class ReactionAlreadyExistsError extends defineError('REACTION_ALREADY_EXISTS', () => ({
  message: 'Reaction already exists.',
})) {}

/** The viewer has not reacted to the message with this emoji. */
export class ReactionDoesNotExistError extends defineError('REACTION_DOES_NOT_EXIST', () => ({
  message: "Reaction doesn't exist.",
})) {}
