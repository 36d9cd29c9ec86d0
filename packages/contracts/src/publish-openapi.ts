import { z } from 'zod';
import { PublishAnswer, PublishRefusal, PublishRequest } from './publish.ts';

const SCHEMAS = '#/components/schemas/';

/** OpenAPI 3.1 of what ingest offers to applications, generated from the schemas that judge their requests. */
export function publishOpenApi(): Record<string, unknown> {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Breakwater: publishing events',
      version: '1',
      description:
        'Publishing is idempotent by event id, so an outbox relay may send a request again until it gets 202.',
    },
    paths: { '/v1/events': { post: PUBLISH } },
    components: {
      securitySchemes: { publishToken: { type: 'http', scheme: 'bearer' } },
      schemas: componentSchemas(),
    },
  };
}

const content = (name: string) => ({ 'application/json': { schema: { $ref: SCHEMAS + name } } });
const refusal = (description: string) => ({ description, content: content('Refused') });

const PUBLISH = {
  operationId: 'publishEvents',
  summary: 'Publish one event, or up to 1,000',
  security: [{ publishToken: [] }],
  requestBody: { required: true, content: content('PublishRequest') },
  responses: {
    202: {
      description:
        'Every event has its final result: stored durably (or stored before), or refused with what to correct.',
      content: content('Published'),
    },
    400: refusal('The request, or every event in it, is refused; sent again it will be refused again.'),
    401: refusal('The bearer token is missing or wrong.'),
    405: refusal('Only POST is taken.'),
    413: refusal('The request, or its only event, is too large.'),
    415: refusal('The request has a content encoding.'),
    503: {
      ...refusal(
        'At least one event could not be stored. Send the whole request again: what was stored answers deduped.',
      ),
      headers: { 'Retry-After': { description: 'seconds', schema: { type: 'integer' } } },
    },
  },
};

/** One conversion of all, so that what they share is one component. */
function componentSchemas(): unknown {
  const all = z.object({ request: PublishRequest, answer: PublishAnswer, refusal: PublishRefusal });
  const { $defs = {} } = z.toJSONSchema(all, { io: 'input' });
  return JSON.parse(JSON.stringify($defs).replaceAll('#/$defs/', SCHEMAS));
}
