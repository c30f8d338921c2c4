/** Settings that limit one deployment on the process runtime's machine (docs/operations.md#bounds). */
import { amount, type SettingsTable } from './setting-types.ts'

export const BOUND_SETTINGS = {
  APP_MEMORY_MB: [
    amount(16, 100_000_000),
    '2000',
    'memory of an agent including swap, in MB of 10⁶ bytes, unless its `resource_spec` sets it; 0: no limit',
  ],
  APP_CPUS: [
    amount(0.05, 10_000),
    '2',
    'cores of an agent, unless its `resource_spec` sets them. Only control groups and container engines enforce it; 0: no limit',
  ],
  APP_PIDS: [amount(16, 4_000_000), '1024', 'processes and threads of an agent; 0: no limit'],
  APP_FILE_MB: [amount(1, 100_000_000), '2000', 'size of one file of an agent, in MB; 0: no limit'],
  APP_DISK_MB: [
    amount(1, 100_000_000),
    '10000',
    'all files in the folders of an agent, including its copy of the artifact and its `/tmp`, in MB; 0: no limit',
  ],
  APP_DATABASE_CONNECTIONS: [
    amount(1, 10_000),
    '10',
    'connections to the database of a deployment, unless its `db_max_connections` is lower; 0: only that limit applies',
  ],
  APP_DATABASE_MB: [
    amount(10, 100_000_000),
    '10000',
    'size of the database of a deployment, in MB; a larger database is read-only. 0: no limit',
  ],
} as const satisfies SettingsTable
