import { defineError } from '../../platform/errors.ts';

/** Error for a user who has not allowed video calls in their name, or whose token the provider no longer accepts. */
export class InvalidVideoCallProviderTokenError extends defineError('INVALID_VIDEO_CALL_PROVIDER_TOKEN', () => ({
  message: 'Invalid video provider access token',
})) {}
