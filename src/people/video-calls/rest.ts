import { z } from 'zod';
import { endpoint, Redirect } from '../../api/rest/endpoint.ts';
import { text } from '../../api/rest/params.ts';
import { beginRegistration, completeRegistration, homeOfRegistration } from './registration.ts';
import { createVideoCall } from './service.ts';

export const postVideoCall = endpoint({
  method: 'POST',
  path: '/calls/videoprovider/create',
  auth: 'basic',
  twins: ['createVideoCall'],
  summary: 'Create a video call',
  description: 'Needs a token, as `has_videoprovider_token` of registration says.',
  ignoresIdempotencyKey: true,
  params: {},
  reply: { url: z.string() },
  async handle(ctx) {
    return { url: await createVideoCall(ctx) };
  },
});

export const getVideoCallRegister = endpoint({
  method: 'GET',
  path: '/calls/videoprovider/register',
  auth: 'basic',
  twins: ['videoCallRegistrationUrl'],
  summary: 'Allow video calls to be made in your name',
  description:
    'For a browser: gives it a cookie and redirects to the provider, who asks you and sends you on to `complete`.',
  redirects: 'always',
  params: {},
  reply: {},
  async handle(ctx, _values, http) {
    return new Redirect(beginRegistration(ctx, http));
  },
});

export const getVideoCallComplete = endpoint({
  method: 'GET',
  path: '/calls/videoprovider/complete',
  auth: 'none',
  twins: ['completeVideoCallRegistration'],
  summary: 'Complete what allows video calls',
  description:
    'The provider sends the browser here. Needs no credentials, but the cookie of `register`: only the browser that began ' +
    'can complete, once, within ten minutes. Sends it on to the organization that it began at, if that is elsewhere.',
  redirects: 'sometimes',
  params: {
    state: text(z.string(), { description: 'As it was sent to the provider.' }),
    code: text(z.string(), { description: 'Of the consent; absent with `error`.' }).optional(),
    error: text(z.string(), { description: 'Why the provider gave no code.' }).optional(),
  },
  reply: {},
  async handle(request, consent, http) {
    const home = homeOfRegistration(request, consent, http);
    if (home !== undefined) return new Redirect(home);
    await completeRegistration(request, consent, http);
  },
});
