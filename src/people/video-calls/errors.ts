import { defineError } from '../../platform/errors.ts';

/** The user has not allowed video calls in their name, or the provider no longer accepts the token. */
export class InvalidVideoCallProviderTokenError extends defineError('INVALID_VIDEO_CALL_PROVIDER_TOKEN', () => ({
  message: 'Invalid video provider access token',
})) {}
