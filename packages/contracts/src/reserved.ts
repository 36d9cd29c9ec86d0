/** Source of events that applications publish; no provider may take the name. */
export const RESERVED_SOURCE = 'api';
