/** The interface of a bench case. */
import type { How } from '../measure/compare.ts'
import type { Table } from '../measure/report.ts'
import type { Place } from '../place/place.ts'

export interface Case {
  /** The name on the command line. */
  id: string
  what: string
  /** `open`: returns data, our server and the contenders; they start on first use. */
  run(open: () => Promise<Place>, how: How): Promise<Table>
}
