import { z } from 'zod';
import { PARAMS } from './admin-requests.ts';
import { paramsOf, type RouteSpec } from './admin-route.ts';
import { ADMIN_ROUTES } from './admin-routes.ts';
import { ApiError } from './admin-views.ts';

const SCHEMAS = '#/components/schemas/';
type Json = Record<string, unknown>;

const jsonSchema = (schema: z.ZodType, io: 'input' | 'output'): Json => {
  const { $schema: _version, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Json;
  return rest;
};

/** OpenAPI 3.1 of the admin API, generated from the schemas that judge its requests and describe its answers. */
export function adminOpenApi(): Json {
  const schemas: Json = {};
  /** Inline, or a reference to a component where the schema has a name. What it needs itself becomes a component too. */
  const place = (schema: z.ZodType, io: 'input' | 'output'): Json => {
    const { $defs = {}, ...body } = jsonSchema(schema, io) as Json & { $defs?: Json };
    Object.assign(schemas, $defs);
    const { id, ...own } = body;
    if (typeof id !== 'string') return body;
    schemas[id] = own;
    return { $ref: SCHEMAS + id };
  };
  const content = (schema: z.ZodType, io: 'input' | 'output') => ({
    'application/json': { schema: place(schema, io) },
  });
  const paths: Record<string, Json> = {};
  for (const [operationId, route] of Object.entries<RouteSpec>(ADMIN_ROUTES)) {
    const path = (paths[`/api/v1${route.path}`] ??= {});
    path[route.method] = {
      operationId,
      summary: route.summary,
      security: [{ token: [] }],
      'x-access': route.access,
      parameters: parametersOf(route, place),
      ...(route.body && {
        requestBody: {
          required: !route.body.safeParse(undefined).success,
          content: content(route.body, 'input'),
        },
      }),
      responses: {
        [route.status]: { description: 'Done.', content: content(route.answer, 'output') },
        default: {
          description: 'Refused, or failed; see docs/api.md.',
          content: content(ApiError, 'output'),
        },
      },
    };
  }
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Breakwater: admin API',
      version: '1',
      description:
        'Every route is of one operator: the one of the token, or of ?operator= for a token of every operator.',
    },
    paths,
    components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } }, schemas },
  };
  return z
    .record(z.string(), z.unknown())
    .parse(JSON.parse(JSON.stringify(document).replaceAll('#/$defs/', SCHEMAS)));
}

function parametersOf(route: RouteSpec, place: (schema: z.ZodType, io: 'input' | 'output') => Json): Json[] {
  const query = jsonSchema(route.query, 'input') as { properties?: Record<string, Json> };
  return [
    ...paramsOf(route.path).map((name) => ({
      name,
      in: 'path',
      required: true,
      schema: place(PARAMS[name], 'input'),
    })),
    ...Object.entries(query.properties ?? {}).map(([name, schema]) => ({
      name,
      in: 'query',
      required: false,
      schema,
    })),
    ...(route.creates ? [header('Idempotency-Key', 'The same key gets the same answer for 24 hours.')] : []),
    ...(route.versioned && route.method !== 'get'
      ? [
          header(
            'If-Match',
            'ETag of the version that the change is made for; refused with 412 when there is a newer one.',
          ),
        ]
      : []),
  ];
}

const header = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
});
