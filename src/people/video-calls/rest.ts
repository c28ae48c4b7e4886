import { z } from 'zod';
import { endpoint, Redirect } from '../../api/rest/endpoint.ts';
import { text } from '../../api/rest/params.ts';
import { beginRegistration, completeRegistration, homeOfRegistration } from './registration.ts';
import { createVideoCall } from './service.ts';

export const postVideoCall = endpoint({
  method: 'POST',
  path: '/calls/videoprovider/create',
  auth: 'basic',
  equivalents: ['createVideoCall'],
  summary: 'Create a video call',
  description:
    'Requires that you have allowed video calls in your name: see `has_videoprovider_token` in the response of `POST ' +
    '/register`.',
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
  equivalents: ['videoCallRegistrationUrl'],
  summary: 'Allow video calls to be made in your name',
  description:
    'For browsers. Sets a cookie and redirects to the provider, which asks for your consent and redirects to ' +
    '`complete`.',
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
  equivalents: ['completeVideoCallRegistration'],
  summary: 'Complete the registration for video calls',
  description:
    'The provider redirects the browser to this endpoint. No credentials are required. Requires the cookie ' +
    'that `register` set: only the browser that began the registration can complete it, once, within ten ' +
    'minutes. If the registration ' +
    'began at the host name of another organization, the browser is redirected there.',
  redirects: 'sometimes',
  params: {
    state: text(z.string(), { description: 'The state that was sent to the provider.' }),
    code: text(z.string(), { description: 'Code from the provider. Absent if `error` is given.' }).optional(),
    error: text(z.string(), { description: 'Reason why the provider sent no code.' }).optional(),
  },
  reply: {},
  async handle(request, consent, http) {
    const home = homeOfRegistration(request, consent, http);
    if (home !== undefined) return new Redirect(home);
    await completeRegistration(request, consent, http);
  },
});
