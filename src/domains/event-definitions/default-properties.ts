import { LANGUAGES } from './languages.ts';
import type { PropertyOption, PropertyType } from './property-types.ts';

export interface DefaultProperty {
  readonly name: string;
  readonly label: string;
  readonly type: PropertyType;
  /** Empty for every type except `enumeration`. */
  readonly options: readonly PropertyOption[];
}

const DEVICE_TYPE_OPTIONS: readonly PropertyOption[] = [
  'Game Console',
  'PDA',
  'Personal Computer',
  'Desktop',
  'Smartphone',
  'Smart TV',
  'Tablet',
  'Wearable Computer',
  'Unknown',
].map((value) => ({ label: value, value }));

const LANGUAGE_OPTIONS: readonly PropertyOption[] = Object.entries(LANGUAGES).map(([value, label]) => ({
  label,
  value,
}));

const PAGE_CONTENT_TYPE_OPTIONS: readonly PropertyOption[] = [
  { label: 'Blog Post', value: 'BLOG_POST' },
  { label: 'Knowledge Article', value: 'KNOWLEDGE_ARTICLE' },
  { label: 'Landing Page', value: 'LANDING_PAGE' },
  { label: 'Listing Page', value: 'LISTING_PAGE' },
  { label: 'Standard Page', value: 'STANDARD_PAGE' },
  { label: 'Web Interactive', value: 'WEB_INTERACTIVE' },
];

/**
 * The properties that every event definition has unless `includeDefaultProperties` is false, in the order of section 2.4.
 * They do not count towards the maximum of 50 custom properties, and cannot be changed or deleted. They are not stored: that would be dozens
 * of equal rows for each definition, which each change of this list migrates. So their names are reserved in code, and not by the unique
 * constraint, and so is a matching rule that refers to one.
 */
export const DEFAULT_PROPERTIES: readonly DefaultProperty[] = [
  { name: 'svc_browser', label: 'Browser', type: 'string', options: [] },
  { name: 'svc_city', label: 'City', type: 'string', options: [] },
  { name: 'svc_country', label: 'Country', type: 'string', options: [] },
  { name: 'svc_device_type', label: 'Device type', type: 'enumeration', options: DEVICE_TYPE_OPTIONS },
  { name: 'svc_element_class', label: 'Element class', type: 'string', options: [] },
  { name: 'svc_element_id', label: 'Element ID', type: 'string', options: [] },
  { name: 'svc_element_text', label: 'Element text', type: 'string', options: [] },
  { name: 'svc_language', label: 'Language', type: 'enumeration', options: LANGUAGE_OPTIONS },
  { name: 'svc_link_href', label: 'Link href', type: 'string', options: [] },
  {
    name: 'svc_page_content_type',
    label: 'Page content type',
    type: 'enumeration',
    options: PAGE_CONTENT_TYPE_OPTIONS,
  },
  { name: 'svc_page_id', label: 'Page ID', type: 'string', options: [] },
  { name: 'svc_page_title', label: 'Page title', type: 'string', options: [] },
  { name: 'svc_page_url', label: 'Page URL', type: 'string', options: [] },
  { name: 'svc_region', label: 'Region', type: 'string', options: [] },
  { name: 'svc_referrer', label: 'Referrer', type: 'string', options: [] },
  { name: 'svc_user_agent', label: 'User agent', type: 'string', options: [] },
  { name: 'svc_utm_campaign', label: 'UTM Campaign', type: 'string', options: [] },
  { name: 'svc_utm_medium', label: 'UTM Medium', type: 'string', options: [] },
  { name: 'svc_utm_source', label: 'UTM Source', type: 'string', options: [] },
  { name: 'svc_utm_content', label: 'UTM Content', type: 'string', options: [] },
  { name: 'svc_utm_term', label: 'UTM Term', type: 'string', options: [] },
  { name: 'svc_operating_system', label: 'Operating system', type: 'string', options: [] },
  { name: 'svc_operating_version', label: 'Operating version', type: 'string', options: [] },
  { name: 'svc_screen_height', label: 'Screen height', type: 'number', options: [] },
  { name: 'svc_screen_width', label: 'Screen width', type: 'number', options: [] },
  { name: 'svc_asset_description', label: 'Asset description', type: 'string', options: [] },
  { name: 'svc_asset_type', label: 'Asset type', type: 'string', options: [] },
  { name: 'svc_campaign_id', label: 'Campaign ID', type: 'string', options: [] },
  { name: 'svc_device_name', label: 'Device name', type: 'string', options: [] },
  { name: 'svc_touchpoint_source', label: 'Touchpoint source', type: 'string', options: [] },
  { name: 'svc_tracking_name', label: 'Tracking name', type: 'string', options: [] },
  { name: 'svc_parent_module_id', label: 'Parent Module ID', type: 'string', options: [] },
];

const DEFAULT_NAMES: ReadonlySet<string> = new Set(DEFAULT_PROPERTIES.map(({ name }) => name));

/** Older clients write `hs_city` for the default property `svc_city`. Every other name is returned unchanged. */
export function propertyMeantBy(name: string): string {
  const meant = name.replace(/^hs_/, 'svc_');
  return DEFAULT_NAMES.has(meant) ? meant : name;
}
