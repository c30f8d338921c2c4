/** What the relay has to know of a kind of log: the events of workspaces, the lines of a revision's log. */

export interface LogKind<Item, Scope> {
  /** in lines of the server's log: `event log` */
  readonly name: string
  /** NOTIFY channel on which an id is heard when its log has grown: a hint only */
  readonly channel: string
  /** of an item: grows along the log; what was committed is never followed by an item of a lower position */
  positionOf(item: Item): bigint
  occurredAt(item: Item): Date
  /** bytes, about: what is remembered of a log is bounded by them, too */
  weightOf?(item: Item): number
  /** what callers see of a position: opaque, an `after` that goes on behind it */
  cursorOf(id: string, position: bigint): string
  /** The last position of each log; those that have none are left out. One statement. */
  newest(ids: readonly string[]): Promise<ReadonlyMap<string, bigint>>
  /** The oldest `limit` items behind `after`, in order: all, or those of a scope. One statement. */
  read(id: string, after: bigint, limit: number, scope?: Scope): Promise<readonly Item[]>
  /** Throws ValidationError when items behind `after` were removed, since they were too old. */
  throwIfRemoved(id: string, after: bigint): Promise<void>
  /**
   * A log that may grow faster than clients take it: who falls behind reads it at its own pace, for as long as it takes
   * anything. Otherwise it is cut off where the log is not remembered any more.
   */
  readonly allowsLag?: boolean
}
