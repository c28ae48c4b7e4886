import type { FeatureTests } from '../helpers/feature.ts';

const NO_VIDEO_PROVIDER = 'Video provider credentials have not been configured';

export const videoCalls: FeatureTests = {
  rest: {
    'POST /calls/videoprovider/create': () => [{ refusal: NO_VIDEO_PROVIDER }],
    'GET /calls/videoprovider/register': () => [{ refusal: NO_VIDEO_PROVIDER }],
    'GET /calls/videoprovider/complete': () => [
      { parameters: { code: 'x', state: 'x' }, refusal: NO_VIDEO_PROVIDER },
      { parameters: { error: 'x', state: 'x' }, refusal: NO_VIDEO_PROVIDER },
    ],
  },
  queries: {
    hasVideoCallToken: () => [{}],
    videoCallRegistrationUrl: () => [{}],
  },
  mutations: {
    createVideoCall: () => [{}],
    completeVideoCallRegistration: () => [
      { consent: { code: 'x' }, state: 'x' },
      { consent: { error: 'x' }, state: 'x' },
    ],
  },
  refusals: {
    createVideoCall: NO_VIDEO_PROVIDER,
    completeVideoCallRegistration: NO_VIDEO_PROVIDER,
    videoCallRegistrationUrl: NO_VIDEO_PROVIDER,
  },
  rules: {
    has_videoprovider_token: (state, { value }) => {
      state['has_videoprovider_token'] = value;
    },
  },
};
