import { defineError } from '../../platform/errors.ts';

/** Error for a reaction with an emoji with which the viewer has already reacted to the message. */
export class ReactionAlreadyExistsError extends defineError('REACTION_ALREADY_EXISTS', () => ({
  message: 'Reaction already exists.',
})) {}

/** Error for the removal of a reaction that the viewer does not have on the message. */
export class ReactionDoesNotExistError extends defineError('REACTION_DOES_NOT_EXIST', () => ({
  message: "Reaction doesn't exist.",
})) {}
