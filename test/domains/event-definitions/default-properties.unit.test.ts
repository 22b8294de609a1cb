import { describe, expect, test } from 'vitest';
import { DEFAULT_PROPERTIES } from '../../../src/domains/event-definitions/default-properties.ts';
import { NAME_PATTERN, RESERVED_PREFIX } from '../../../src/domains/event-definitions/naming.ts';
import { FIELD_TYPE_OF, PROPERTY_TYPES } from '../../../src/domains/event-definitions/property-types.ts';

function optionsOf(name: string): readonly string[] {
  const property = DEFAULT_PROPERTIES.find((candidate) => candidate.name === name);
  return property?.options.map(({ label, value }) => `${value}|${label}`) ?? [];
}

describe('default properties', () => {
  test('are those of section 2.4 of the specification, in the same order', () => {
    const lines = DEFAULT_PROPERTIES.map(({ name, label, type }) => [name, label, type, FIELD_TYPE_OF[type]].join('|'));
    expect(lines.join('\n')).toMatchInlineSnapshot(`
      "svc_browser|Browser|string|text
      svc_city|City|string|text
      svc_country|Country|string|text
      svc_device_type|Device type|enumeration|select
      svc_element_class|Element class|string|text
      svc_element_id|Element ID|string|text
      svc_element_text|Element text|string|text
      svc_language|Language|enumeration|select
      svc_link_href|Link href|string|text
      svc_page_content_type|Page content type|enumeration|select
      svc_page_id|Page ID|string|text
      svc_page_title|Page title|string|text
      svc_page_url|Page URL|string|text
      svc_region|Region|string|text
      svc_referrer|Referrer|string|text
      svc_user_agent|User agent|string|text
      svc_utm_campaign|UTM Campaign|string|text
      svc_utm_medium|UTM Medium|string|text
      svc_utm_source|UTM Source|string|text
      svc_utm_content|UTM Content|string|text
      svc_utm_term|UTM Term|string|text
      svc_operating_system|Operating system|string|text
      svc_operating_version|Operating version|string|text
      svc_screen_height|Screen height|number|number
      svc_screen_width|Screen width|number|number
      svc_asset_description|Asset description|string|text
      svc_asset_type|Asset type|string|text
      svc_campaign_id|Campaign ID|string|text
      svc_device_name|Device name|string|text
      svc_touchpoint_source|Touchpoint source|string|text
      svc_tracking_name|Tracking name|string|text
      svc_parent_module_id|Parent Module ID|string|text"
    `);
  });

  test('have valid, unique names with the reserved prefix', () => {
    const names = DEFAULT_PROPERTIES.map(({ name }) => name);
    expect(names.filter((name) => !NAME_PATTERN.test(name) || !name.startsWith(RESERVED_PREFIX))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  });

  test('only the three enumerations have options', () => {
    const withOptions = DEFAULT_PROPERTIES.filter(({ options }) => options.length > 0);
    expect(withOptions.map(({ name, type }) => [name, type])).toEqual([
      ['svc_device_type', 'enumeration'],
      ['svc_language', 'enumeration'],
      ['svc_page_content_type', 'enumeration'],
    ]);
  });

  test('svc_device_type has labels equal to its values', () => {
    expect(optionsOf('svc_device_type')).toEqual([
      'Game Console|Game Console',
      'PDA|PDA',
      'Personal Computer|Personal Computer',
      'Desktop|Desktop',
      'Smartphone|Smartphone',
      'Smart TV|Smart TV',
      'Tablet|Tablet',
      'Wearable Computer|Wearable Computer',
      'Unknown|Unknown',
    ]);
  });

  test('svc_page_content_type has six options', () => {
    expect(optionsOf('svc_page_content_type')).toEqual([
      'BLOG_POST|Blog Post',
      'KNOWLEDGE_ARTICLE|Knowledge Article',
      'LANDING_PAGE|Landing Page',
      'LISTING_PAGE|Listing Page',
      'STANDARD_PAGE|Standard Page',
      'WEB_INTERACTIVE|Web Interactive',
    ]);
  });

  test('svc_language has the 183 codes of ISO 639-1 in order, each with a different label', () => {
    const options = optionsOf('svc_language');
    expect(options).toHaveLength(183);
    expect(options.map((option) => option.replace('|', ' '))).toEqual(
      `
      aa Afar, ab Abkhazian, ae Avestan, af Afrikaans, ak Akan, am Amharic, an Aragonese, ar Arabic, as Assamese
      av Avaric, ay Aymara, az Azerbaijani
      ba Bashkir, be Belarusian, bg Bulgarian, bi Bislama, bm Bambara, bn Bengali, bo Tibetan, br Breton
      bs Bosnian
      ca Catalan, ce Chechen, ch Chamorro, co Corsican, cr Cree, cs Czech, cu Church Slavic, cv Chuvash, cy Welsh
      da Danish, de German, dv Divehi, dz Dzongkha
      ee Ewe, el Greek, en English, eo Esperanto, es Spanish, et Estonian, eu Basque
      fa Persian, ff Fulah, fi Finnish, fj Fijian, fo Faroese, fr French, fy Western Frisian
      ga Irish, gd Scottish Gaelic, gl Galician, gn Guarani, gu Gujarati, gv Manx
      ha Hausa, he Hebrew, hi Hindi, ho Hiri Motu, hr Croatian, ht Haitian Creole, hu Hungarian, hy Armenian
      hz Herero
      ia Interlingua, id Indonesian, ie Interlingue, ig Igbo, ii Sichuan Yi, ik Inupiaq, io Ido, is Icelandic
      it Italian, iu Inuktitut
      ja Japanese, jv Javanese
      ka Georgian, kg Kongo, ki Kikuyu, kj Kuanyama, kk Kazakh, kl Kalaallisut, km Khmer, kn Kannada, ko Korean
      kr Kanuri, ks Kashmiri, ku Kurdish, kv Komi, kw Cornish, ky Kyrgyz
      la Latin, lb Luxembourgish, lg Ganda, li Limburgish, ln Lingala, lo Lao, lt Lithuanian, lu Luba-Katanga
      lv Latvian
      mg Malagasy, mh Marshallese, mi Maori, mk Macedonian, ml Malayalam, mn Mongolian, mr Marathi, ms Malay
      mt Maltese, my Burmese
      na Nauru, nb Norwegian Bokmål, nd North Ndebele, ne Nepali, ng Ndonga, nl Dutch, nn Norwegian Nynorsk
      no Norwegian, nr South Ndebele, nv Navajo, ny Nyanja
      oc Occitan, oj Ojibwa, om Oromo, or Oriya, os Ossetic
      pa Punjabi, pi Pali, pl Polish, ps Pashto, pt Portuguese
      qu Quechua
      rm Romansh, rn Rundi, ro Romanian, ru Russian, rw Kinyarwanda
      sa Sanskrit, sc Sardinian, sd Sindhi, se Northern Sami, sg Sango, si Sinhala, sk Slovak, sl Slovenian
      sm Samoan, sn Shona, so Somali, sq Albanian, sr Serbian, ss Swati, st Southern Sotho, su Sundanese
      sv Swedish, sw Swahili
      ta Tamil, te Telugu, tg Tajik, th Thai, ti Tigrinya, tk Turkmen, tl Tagalog, tn Tswana, to Tongan
      tr Turkish, ts Tsonga, tt Tatar, tw Twi, ty Tahitian
      ug Uyghur, uk Ukrainian, ur Urdu, uz Uzbek
      ve Venda, vi Vietnamese, vo Volapük
      wa Walloon, wo Wolof
      xh Xhosa
      yi Yiddish, yo Yoruba
      za Zhuang, zh Chinese, zu Zulu
    `
        .trim()
        .split(/,\s|\n\s*/),
    );
    expect(new Set(options.map((option) => option.split('|')[1])).size).toBe(183);
  });
});

test('each property type has the field type of section 2.2 of the specification', () => {
  expect(PROPERTY_TYPES.map((type) => `${type}|${FIELD_TYPE_OF[type]}`)).toEqual([
    'bool|radio',
    'date|date',
    'datetime|date',
    'enumeration|select',
    'number|number',
    'string|text',
  ]);
});
