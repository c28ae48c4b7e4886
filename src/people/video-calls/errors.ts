import { defineError } from '../../platform/errors.ts';

/** The user has not allowed video calls to be made in their name, or the provider no longer takes that. */
export class InvalidVideoCallProviderTokenError extends defineError('INVALID_VIDEO_CALL_PROVIDER_TOKEN', () => ({
  message: 'Invalid video provider access token',
})) {}
