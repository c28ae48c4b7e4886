import { describe, test } from 'vitest';
import { furnish, type World } from '../helpers/both-doors.ts';
import { type Act, type EquivalentOrganization, expectParity } from '../helpers/equivalents.ts';

describe('signing in', () => {
  test.concurrent('POST /fetch_api_key and fetchApiKey', async () => {
    const login = (username: string, password: string, code?: string): Act<World> => ({
      rest: ({ anonymous }) => anonymous.rest('POST', '/fetch_api_key', { username, password }),
      async graphql({ anonymous }) {
        const query = `mutation ($input: FetchApiKeyInput!) { fetchApiKey(input: $input) {
          __typename ... on ServiceError { code message } } }`;
        const reply = await anonymous.graphql(query, { input: { username, password } });
        return reply.errors === undefined ? reply.data.fetchApiKey : reply;
      },
      ...(code !== undefined && { code }),
    });
    const account = { email: 'ada@example.com', password: 'correct horse' };
    const withAccount = async (twin: EquivalentOrganization) => {
      await twin.people.owner.ok('POST', '/users', { ...account, full_name: 'Ada' });
      return furnish(twin);
    };
    await expectParity(withAccount, {
      'the right password': login(account.email, account.password),
      'a wrong password': login(account.email, 'wrong', 'AUTHENTICATION_FAILED'),
      'an unknown address': login('nobody@example.com', account.password, 'AUTHENTICATION_FAILED'),
      'a null byte': login('a\0b', account.password, 'BAD_REQUEST'),
    });
  });
});
