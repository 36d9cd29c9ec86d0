/** A provider as data: what a source would say, without its secrets. */
export interface Preset {
  /** Settings of a source, as they would be written in the configuration file. */
  readonly source: Readonly<Record<string, unknown>>;
  /** Facts that were not confirmed by the provider's own documentation or code. `config check` prints them. */
  readonly unverified?: readonly string[];
}
