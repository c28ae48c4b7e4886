import { signedIn } from '../../access/context.ts';
import { OrganizationDeactivatedError, UserDeactivatedError } from '../../access/errors.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { errorType } from '../../api/graphql/schema/errors.ts';
import { eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { InvalidVideoCallProviderTokenError } from './errors.ts';
import { beginRegistration, completeRegistration } from './registration.ts';
import { createVideoCall, hasCallToken } from './service.ts';

builder.queryField('hasVideoCallToken', (t) =>
  t.boolean({
    nullable: true,
    description: 'Whether the viewer has allowed video calls to be created in their name.',
    resolve: (_root, _args, ctx) => hasCallToken(signedIn(ctx)),
  }),
);

builder.queryField('videoCallRegistrationUrl', (t) =>
  t.string({
    nullable: true,
    description:
      'URL of the video call provider at which the viewer consents to calls in their name. Valid for ten minutes. ' +
      'The provider then redirects the browser to `GET /calls/videoprovider/complete`, which completes the ' +
      'consent. It requires the cookie that the response to this query sets over HTTP. A client without cookies ' +
      'completes the consent with `completeVideoCallRegistration`.',
    resolve: (_root, _args, ctx) => beginRegistration(signedIn(ctx), ctx.browser),
  }),
);

const VideoCallConsentInput = builder.inputType('VideoCallConsentInput', {
  isOneOf: true,
  description: 'Response of the video call provider to the request for consent.',
  fields: (t) => ({
    code: t.string({ required: false, description: 'Code from the provider, which the server exchanges for a token.' }),
    error: t.string({ required: false, description: 'Reason why the provider sent no code.' }),
  }),
});

mutation('completeVideoCallRegistration', {
  description:
    'Stores the consent to video calls that the viewer gave at `videoCallRegistrationUrl`. Pass the parameters ' +
    'with which the provider redirected the browser. They can be used once.',
  input: (t) => ({
    state: t.string({
      description:
        'Value of the parameter `state` of `videoCallRegistrationUrl`, which the provider returns unchanged.',
    }),
    consent: t.field({ type: VideoCallConsentInput, description: 'Response of the provider.' }),
  }),
  ignoresIdempotencyKey: true,
  payload: () => ({
    hasVideoCallToken: {
      type: 'Boolean',
      description: 'Always true: the viewer has now allowed video calls to be created in their name.',
    },
  }),
  errors: [UserDeactivatedError, OrganizationDeactivatedError],
  resolve: async ({ app, work, viewer }, { state, consent: { code, error } }) => {
    const request = { app, work, viewer, organization: viewer.organization, clientName: viewer.clientName };
    await completeRegistration(request, { state, code, error }, undefined);
    return { hasVideoCallToken: true };
  },
});

errorType(
  InvalidVideoCallProviderTokenError,
  'The viewer has not allowed video calls in their name, or the provider no longer accepts the token.',
);

mutation('createVideoCall', {
  description: "Creates a video call in the viewer's name.",
  ignoresIdempotencyKey: true,
  payload: () => ({ url: { type: 'String', description: 'URL to join the call.' } }),
  errors: [InvalidVideoCallProviderTokenError],
  resolve: async (ctx) => ({ url: await createVideoCall(ctx) }),
});

eventType<{ value: boolean }>(
  'has_videoprovider_token',
  undefined,
  'VideoCallTokenChangedEvent',
  (t) => ({
    hasVideoCallToken: t.boolean({
      description: 'Whether the viewer has allowed video calls to be created in their name.',
      resolve: ({ event }) => event.value,
    }),
  }),
  { description: 'The viewer allowed video calls in their name, or the provider no longer accepts the token.' },
);
