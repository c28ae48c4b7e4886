import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import { postMessageTyping, postTyping } from './rest.ts';

export const typing: Feature = {
  endpoints: [postTyping, postMessageTyping],
};
