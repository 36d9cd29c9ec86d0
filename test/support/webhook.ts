import { createHmac } from 'node:crypto';

/** Signs a body as the demonstration's provider does. */
export function demoSignature(body: string | Buffer, secret = 'demo-webhook-secret'): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

/** Posts a JSON event, signed for the source demo-payments. */
export function signedPost(url: string, event: Record<string, unknown>): Promise<Response> {
  const body = JSON.stringify(event);
  return fetch(url, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', 'x-signature': demoSignature(body) },
    signal: AbortSignal.timeout(10_000),
  });
}

/** An event that the demonstration routes to the ERP. */
export function orderPaid(id: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    event_id: id,
    type: 'order.paid',
    order_id: `order-${id}`,
    warehouse: 'W1',
    lines: [{ sku: 'MILK-1L', quantity: 1 }],
    ...more,
  };
}
