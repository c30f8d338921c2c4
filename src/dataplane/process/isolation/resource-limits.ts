/** Limits on what an agent may use of its machine. */

/** null: no limit. MB are 10^6 bytes. */
export interface ResourceLimits {
  memoryMb: number | null
  cpus: number | null
  /** processes and threads */
  processes: number | null
  fileMb: number | null
  diskMb: number | null
}

export const NO_LIMITS: ResourceLimits = { memoryMb: null, cpus: null, processes: null, fileMb: null, diskMb: null }
