/** The relay's interface to a kind of log, such as the events of workspaces or the lines of deployments. */

export interface LogKind<Item, Scope> {
  /** Name in the server's log: `event log`. */
  readonly name: string
  /** NOTIFY channel that names the ids of grown logs. A notification is only a hint. */
  readonly channel: string
  /** Grows along the log. An item that commits later never has a lower position. */
  positionOf(item: Item): bigint
  occurredAt(item: Item): Date
  /** Approximate size in bytes, which also limits the items in memory. */
  weightOf?(item: Item): number
  /** The opaque cursor of a position, the `after` that continues behind it. */
  cursorOf(id: string, position: bigint): string
  /** The last position of each log; empty logs are left out. One statement. */
  newest(ids: readonly string[]): Promise<ReadonlyMap<string, bigint>>
  /** The oldest `limit` items after the position, in order: all, or those of a scope. One statement. */
  read(id: string, after: bigint, limit: number, scope?: Scope): Promise<readonly Item[]>
  /** Throws ValidationError if items after the position were removed. */
  throwIfRemoved(id: string, after: bigint): Promise<void>
  /**
   * A log that may grow faster than clients read. A slow client reads at its own pace as long as it reads anything.
   * Otherwise it is cut off when its position leaves memory.
   */
  readonly allowsLag?: boolean
}
