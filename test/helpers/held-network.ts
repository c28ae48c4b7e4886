import type { Page, Route } from 'playwright-core';

/** A GraphQL request over HTTP. */
interface Asked {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

type QueryHandler = (asked: Asked) => { readonly status: number; readonly body: unknown } | undefined;

const isQuery = ({ query }: Asked): boolean => /^\s*(query|\{|fragment)/.test(query);

/**
 * Interceptor of a page's GraphQL queries, so that a test can delay or answer them. Mutations and events are not intercepted.
 */
export class HeldNetwork {
  readonly #held: Route[] = [];
  #isHolding = false;
  #answer: QueryHandler = () => undefined;

  /** Starts to intercept the requests of a page. Until `hold` or `answer` is called, all requests pass unchanged. */
  static async of(page: Page): Promise<HeldNetwork> {
    const network = new HeldNetwork();
    await page.route('**/graphql', (route) => network.#take(route));
    return network;
  }

  /** Delays every query until `release`. */
  hold(): void {
    this.#isHolding = true;
  }

  /** Sends the delayed queries, and no longer delays later ones. */
  async release(): Promise<void> {
    this.#isHolding = false;
    await Promise.all(this.#held.splice(0).map(pass));
  }

  /**
   * Answers queries instead of the service. @param answer Returns the response. Undefined: the query is sent to the service.
   */
  answer(answer: QueryHandler): void {
    this.#answer = answer;
  }

  async #take(route: Route): Promise<void> {
    const asked = (route.request().postDataJSON() ?? {}) as Asked;
    if (typeof asked.query !== 'string' || !isQuery(asked)) return route.fallback();
    const answer = this.#answer(asked);
    if (answer !== undefined) return route.fulfill({ status: answer.status, json: answer.body }).catch(ignoreAborted);
    if (this.#isHolding) this.#held.push(route);
    else await pass(route);
  }
}

const pass = (route: Route): Promise<void> => route.fallback().catch(ignoreAborted);

/** Ignores errors of requests that the page has aborted. */
const ignoreAborted = (): void => undefined;
