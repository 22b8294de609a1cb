// Printed by `plan types` from a tracking plan. Do not edit: change the plan and print it again.

/** Properties of every event that includes the default properties. */
export interface DefaultProperties {
  /** Browser */
  readonly svc_browser?: string | undefined;
  /** City */
  readonly svc_city?: string | undefined;
  /** Country */
  readonly svc_country?: string | undefined;
  /** Device type */
  readonly svc_device_type?: "Game Console" | "PDA" | "Personal Computer" | "Desktop" | "Smartphone" | "Smart TV" | "Tablet" | "Wearable Computer" | "Unknown" | undefined;
  /** Element class */
  readonly svc_element_class?: string | undefined;
  /** Element ID */
  readonly svc_element_id?: string | undefined;
  /** Element text */
  readonly svc_element_text?: string | undefined;
  /** Language */
  readonly svc_language?: "aa" | "ab" | "ae" | "af" | "ak" | "am" | "an" | "ar" | "as" | "av" | "ay" | "az" | "ba" | "be" | "bg" | "bi" | "bm" | "bn" | "bo" | "br" | "bs" | "ca" | "ce" | "ch" | "co" | "cr" | "cs" | "cu" | "cv" | "cy" | "da" | "de" | "dv" | "dz" | "ee" | "el" | "en" | "eo" | "es" | "et" | "eu" | "fa" | "ff" | "fi" | "fj" | "fo" | "fr" | "fy" | "ga" | "gd" | "gl" | "gn" | "gu" | "gv" | "ha" | "he" | "hi" | "ho" | "hr" | "ht" | "hu" | "hy" | "hz" | "ia" | "id" | "ie" | "ig" | "ii" | "ik" | "io" | "is" | "it" | "iu" | "ja" | "jv" | "ka" | "kg" | "ki" | "kj" | "kk" | "kl" | "km" | "kn" | "ko" | "kr" | "ks" | "ku" | "kv" | "kw" | "ky" | "la" | "lb" | "lg" | "li" | "ln" | "lo" | "lt" | "lu" | "lv" | "mg" | "mh" | "mi" | "mk" | "ml" | "mn" | "mr" | "ms" | "mt" | "my" | "na" | "nb" | "nd" | "ne" | "ng" | "nl" | "nn" | "no" | "nr" | "nv" | "ny" | "oc" | "oj" | "om" | "or" | "os" | "pa" | "pi" | "pl" | "ps" | "pt" | "qu" | "rm" | "rn" | "ro" | "ru" | "rw" | "sa" | "sc" | "sd" | "se" | "sg" | "si" | "sk" | "sl" | "sm" | "sn" | "so" | "sq" | "sr" | "ss" | "st" | "su" | "sv" | "sw" | "ta" | "te" | "tg" | "th" | "ti" | "tk" | "tl" | "tn" | "to" | "tr" | "ts" | "tt" | "tw" | "ty" | "ug" | "uk" | "ur" | "uz" | "ve" | "vi" | "vo" | "wa" | "wo" | "xh" | "yi" | "yo" | "za" | "zh" | "zu" | undefined;
  /** Link href */
  readonly svc_link_href?: string | undefined;
  /** Page content type */
  readonly svc_page_content_type?: "BLOG_POST" | "KNOWLEDGE_ARTICLE" | "LANDING_PAGE" | "LISTING_PAGE" | "STANDARD_PAGE" | "WEB_INTERACTIVE" | undefined;
  /** Page ID */
  readonly svc_page_id?: string | undefined;
  /** Page title */
  readonly svc_page_title?: string | undefined;
  /** Page URL */
  readonly svc_page_url?: string | undefined;
  /** Region */
  readonly svc_region?: string | undefined;
  /** Referrer */
  readonly svc_referrer?: string | undefined;
  /** User agent */
  readonly svc_user_agent?: string | undefined;
  /** UTM Campaign */
  readonly svc_utm_campaign?: string | undefined;
  /** UTM Medium */
  readonly svc_utm_medium?: string | undefined;
  /** UTM Source */
  readonly svc_utm_source?: string | undefined;
  /** UTM Content */
  readonly svc_utm_content?: string | undefined;
  /** UTM Term */
  readonly svc_utm_term?: string | undefined;
  /** Operating system */
  readonly svc_operating_system?: string | undefined;
  /** Operating version */
  readonly svc_operating_version?: string | undefined;
  /**
   * Screen height
   * At most 15 digits, at most one of them a decimal.
   */
  readonly svc_screen_height?: number | undefined;
  /**
   * Screen width
   * At most 15 digits, at most one of them a decimal.
   */
  readonly svc_screen_width?: number | undefined;
  /** Asset description */
  readonly svc_asset_description?: string | undefined;
  /** Asset type */
  readonly svc_asset_type?: string | undefined;
  /** Campaign ID */
  readonly svc_campaign_id?: string | undefined;
  /** Device name */
  readonly svc_device_name?: string | undefined;
  /** Touchpoint source */
  readonly svc_touchpoint_source?: string | undefined;
  /** Tracking name */
  readonly svc_tracking_name?: string | undefined;
  /** Parent Module ID */
  readonly svc_parent_module_id?: string | undefined;
}

/** The properties of each event. */
export interface EventProperties {
  readonly back_in_stock_alert_subscribed: DefaultProperties & {
    /**
     * Alert channel
     * Way by which the visitor wants to be told.
     */
    readonly alert_channel?: "email" | "sms" | "push" | undefined;
    /**
     * Alert expires on
     * Day after which the visitor no longer wants to know.
     * A day: YYYY-MM-DD.
     */
    readonly alert_expires_on?: string | undefined;
    /**
     * Product ID
     * Identifier of the product in the catalogue.
     */
    readonly product_id?: string | undefined;
    /**
     * Product name
     * Name of the product as shown to the visitor.
     */
    readonly product_name?: string | undefined;
    /**
     * SKU
     * Stock keeping unit of the variant.
     */
    readonly sku?: string | undefined;
    /**
     * Variant
     * Variant of the product, such as its colour and size.
     */
    readonly variant?: string | undefined;
  };
  readonly cart_shared: DefaultProperties & {
    /**
     * Cart ID
     * Identifier of the cart.
     */
    readonly cart_id?: string | undefined;
    /**
     * Product count
     * Number of different products.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly product_count?: number | undefined;
    /**
     * Share channel
     * Way by which it was shared.
     */
    readonly share_channel?: "email" | "link" | "messenger" | "social" | undefined;
    /**
     * Share link
     * Address that was shared.
     */
    readonly share_link?: string | undefined;
  };
  readonly cart_viewed: DefaultProperties & {
    /**
     * Cart created at
     * When the first product was added.
     * A time: ISO 8601, or a Date.
     */
    readonly cart_created_at?: Date | string | undefined;
    /**
     * Cart ID
     * Identifier of the cart.
     */
    readonly cart_id?: string | undefined;
    /**
     * Cart value (minor units)
     * Sum of the cart, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly cart_value_minor?: number | undefined;
    /**
     * Currency
     * ISO 4217 code of every amount of the event.
     */
    readonly currency?: "EUR" | "GBP" | "CHF" | "USD" | undefined;
    /**
     * Free shipping reached
     * Whether the cart is above the threshold of free shipping.
     */
    readonly free_shipping_reached?: boolean | undefined;
    /**
     * Product count
     * Number of different products.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly product_count?: number | undefined;
  };
  readonly checkout_started: DefaultProperties & {
    /**
     * Cart ID
     * Identifier of the cart.
     */
    readonly cart_id?: string | undefined;
    /**
     * Cart value (minor units)
     * Sum of the cart, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly cart_value_minor?: number | undefined;
    /**
     * Checkout ID
     * Identifier of the checkout, the same in all its steps.
     */
    readonly checkout_id?: string | undefined;
    /**
     * Coupon
     * Code of the coupon in effect, when there is one.
     */
    readonly coupon?: string | undefined;
    /**
     * Currency
     * ISO 4217 code of every amount of the event.
     */
    readonly currency?: "EUR" | "GBP" | "CHF" | "USD" | undefined;
    /**
     * Guest checkout
     * Whether the visitor continues without an account.
     */
    readonly guest_checkout?: boolean | undefined;
    /**
     * Product count
     * Number of different products.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly product_count?: number | undefined;
  };
  readonly checkout_step_completed: DefaultProperties & {
    /**
     * Checkout ID
     * Identifier of the checkout, the same in all its steps.
     */
    readonly checkout_id?: string | undefined;
    /**
     * Checkout step
     * Step of the checkout.
     */
    readonly checkout_step?: "contact" | "delivery" | "payment" | "review" | undefined;
    /**
     * Duration (seconds)
     * Time spent on the step.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly duration_seconds?: number | undefined;
    /**
     * Payment method
     * How the customer pays.
     */
    readonly payment_method?: "card" | "sepa_debit" | "invoice" | "wallet" | "gift_card" | undefined;
    /**
     * Shipping method
     * How the goods travel to the customer.
     */
    readonly shipping_method?: "standard" | "express" | "click_collect" | "parcel_locker" | undefined;
  };
  readonly checkout_step_viewed: DefaultProperties & {
    /**
     * Checkout ID
     * Identifier of the checkout, the same in all its steps.
     */
    readonly checkout_id?: string | undefined;
    /**
     * Checkout step
     * Step of the checkout.
     */
    readonly checkout_step?: "contact" | "delivery" | "payment" | "review" | undefined;
    /**
     * Payment method
     * How the customer pays.
     */
    readonly payment_method?: "card" | "sepa_debit" | "invoice" | "wallet" | "gift_card" | undefined;
    /**
     * Shipping method
     * How the goods travel to the customer.
     */
    readonly shipping_method?: "standard" | "express" | "click_collect" | "parcel_locker" | undefined;
  };
  readonly coupon_applied: DefaultProperties & {
    /**
     * Cart ID
     * Identifier of the cart.
     */
    readonly cart_id?: string | undefined;
    /**
     * Coupon code
     * Code of the coupon.
     */
    readonly coupon_code?: string | undefined;
    /**
     * Coupon name
     * Name of the campaign behind the coupon.
     */
    readonly coupon_name?: string | undefined;
    /**
     * Currency
     * ISO 4217 code of every amount of the event.
     */
    readonly currency?: "EUR" | "GBP" | "CHF" | "USD" | undefined;
    /**
     * Discount (minor units)
     * Discount given, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly discount_minor?: number | undefined;
    /**
     * Valid until
     * Last day on which the coupon counts.
     * A day: YYYY-MM-DD.
     */
    readonly valid_until?: string | undefined;
  };
  readonly coupon_denied: DefaultProperties & {
    /**
     * Cart ID
     * Identifier of the cart.
     */
    readonly cart_id?: string | undefined;
    /**
     * Coupon code
     * Code as it was typed.
     */
    readonly coupon_code?: string | undefined;
    /**
     * Denial reason
     * Why the coupon was refused.
     */
    readonly denial_reason?: "unknown" | "expired" | "already_used" | "minimum_not_reached" | "not_combinable" | undefined;
  };
  readonly coupon_entered: DefaultProperties & {
    /**
     * Cart ID
     * Identifier of the cart.
     */
    readonly cart_id?: string | undefined;
    /**
     * Coupon code
     * Code as it was typed.
     */
    readonly coupon_code?: string | undefined;
  };
  readonly coupon_removed: DefaultProperties & {
    /**
     * Cart ID
     * Identifier of the cart.
     */
    readonly cart_id?: string | undefined;
    /**
     * Coupon code
     * Code of the coupon.
     */
    readonly coupon_code?: string | undefined;
    /**
     * Currency
     * ISO 4217 code of every amount of the event.
     */
    readonly currency?: "EUR" | "GBP" | "CHF" | "USD" | undefined;
    /**
     * Discount (minor units)
     * Discount given, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly discount_minor?: number | undefined;
  };
  readonly order_cancelled: DefaultProperties & {
    /**
     * Cancellation note
     * What the customer or the shop wrote about it.
     */
    readonly cancellation_note?: string | undefined;
    /**
     * Cancelled by
     * Who cancelled the order.
     */
    readonly cancelled_by?: "customer" | "shop" | "payment_provider" | undefined;
    /**
     * Currency
     * ISO 4217 code of every amount of the event.
     */
    readonly currency?: "EUR" | "GBP" | "CHF" | "USD" | undefined;
    /**
     * Order ID
     * Number of the order, as printed on its confirmation.
     */
    readonly order_id?: string | undefined;
    /**
     * Total (minor units)
     * Amount charged with shipping and tax, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly total_minor?: number | undefined;
  };
  readonly order_completed: DefaultProperties & {
    /**
     * Checkout ID
     * Identifier of the checkout, the same in all its steps.
     */
    readonly checkout_id?: string | undefined;
    /**
     * Coupon
     * Code of the coupon in effect, when there is one.
     */
    readonly coupon?: string | undefined;
    /**
     * Currency
     * ISO 4217 code of every amount of the event.
     */
    readonly currency?: "EUR" | "GBP" | "CHF" | "USD" | undefined;
    /**
     * Discount (minor units)
     * Discount given, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly discount_minor?: number | undefined;
    /**
     * Expected delivery date
     * Day on which the parcel should arrive.
     * A day: YYYY-MM-DD.
     */
    readonly expected_delivery_date?: string | undefined;
    /**
     * First order
     * Whether the customer orders for the first time.
     */
    readonly first_order?: boolean | undefined;
    /**
     * Order ID
     * Number of the order, as printed on its confirmation.
     */
    readonly order_id?: string | undefined;
    /**
     * Payment method
     * How the customer pays.
     */
    readonly payment_method?: "card" | "sepa_debit" | "invoice" | "wallet" | "gift_card" | undefined;
    /**
     * Placed at
     * When the order was placed.
     * A time: ISO 8601, or a Date.
     */
    readonly placed_at?: Date | string | undefined;
    /**
     * Product count
     * Number of different products.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly product_count?: number | undefined;
    /**
     * Revenue (minor units)
     * Value of the goods after discounts, without shipping and tax, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly revenue_minor?: number | undefined;
    /**
     * Shipping method
     * How the goods travel to the customer.
     */
    readonly shipping_method?: "standard" | "express" | "click_collect" | "parcel_locker" | undefined;
    /**
     * Shipping (minor units)
     * Shipping cost, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly shipping_minor?: number | undefined;
    /**
     * Tax (minor units)
     * Tax included in the total, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly tax_minor?: number | undefined;
    /**
     * Total (minor units)
     * Amount charged with shipping and tax, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly total_minor?: number | undefined;
  };
  readonly order_refunded: {
    /**
     * Currency
     * ISO 4217 code of every amount of the event.
     */
    readonly currency?: "EUR" | "GBP" | "CHF" | "USD" | undefined;
    /**
     * Full refund
     * Whether the whole order was paid back.
     */
    readonly full_refund?: boolean | undefined;
    /**
     * Order ID
     * Number of the order, as printed on its confirmation.
     */
    readonly order_id?: string | undefined;
    /**
     * Refund (minor units)
     * Amount paid back, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly refund_minor?: number | undefined;
    /**
     * Refund number
     * Running number of the refund.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly refund_number?: number | undefined;
    /**
     * Refund reason
     * Why the money went back.
     */
    readonly refund_reason?: "withdrawal" | "defective" | "wrong_product" | "late_delivery" | "goodwill" | undefined;
    /**
     * Value date
     * Day on which the amount is credited.
     * A day: YYYY-MM-DD.
     */
    readonly value_date?: string | undefined;
  };
  readonly order_shipped: {
    /**
     * Carrier
     * Who delivers the parcel.
     */
    readonly carrier?: "dhl" | "dpd" | "ups" | "swiss_post" | undefined;
    /**
     * Expected delivery date
     * Day on which the parcel should arrive.
     * A day: YYYY-MM-DD.
     */
    readonly expected_delivery_date?: string | undefined;
    /**
     * Order ID
     * Number of the order, as printed on its confirmation.
     */
    readonly order_id?: string | undefined;
    /**
     * Shipped at
     * When the carrier took the parcel.
     * A time: ISO 8601, or a Date.
     */
    readonly shipped_at?: Date | string | undefined;
    /**
     * Tracking link
     * Address at which the parcel can be followed.
     */
    readonly tracking_link?: string | undefined;
    /**
     * Weight (kg)
     * Weight of the parcel in kilograms, with one decimal.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly weight_kg?: number | undefined;
  };
  readonly order_updated: DefaultProperties & {
    /**
     * Changed at
     * When the change took effect.
     * A time: ISO 8601, or a Date.
     */
    readonly changed_at?: Date | string | undefined;
    /**
     * Changed part
     * What was changed.
     */
    readonly changed_part?: "delivery_address" | "billing_address" | "products" | "shipping_method" | undefined;
    /**
     * Currency
     * ISO 4217 code of every amount of the event.
     */
    readonly currency?: "EUR" | "GBP" | "CHF" | "USD" | undefined;
    /**
     * Order ID
     * Number of the order, as printed on its confirmation.
     */
    readonly order_id?: string | undefined;
    /**
     * Total (minor units)
     * Amount charged with shipping and tax, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly total_minor?: number | undefined;
  };
  readonly payment_info_entered: DefaultProperties & {
    /**
     * Checkout ID
     * Identifier of the checkout, the same in all its steps.
     */
    readonly checkout_id?: string | undefined;
    /**
     * 3-D Secure requested
     * Whether the bank asked for strong authentication.
     */
    readonly p_3_d_secure_requested?: boolean | undefined;
    /**
     * Payment method
     * How the customer pays.
     */
    readonly payment_method?: "card" | "sepa_debit" | "invoice" | "wallet" | "gift_card" | undefined;
    /**
     * Saved for later
     * Whether the customer keeps the details for the next order.
     */
    readonly saved_for_later?: boolean | undefined;
  };
  readonly product_added: DefaultProperties & {
    /**
     * Added from
     * Page on which the product was added.
     */
    readonly added_from?: "product_page" | "product_list" | "quick_view" | "recommendation" | "wishlist" | undefined;
    /**
     * Brand
     * Brand of the product.
     */
    readonly brand?: string | undefined;
    /**
     * Cart ID
     * Identifier of the cart.
     */
    readonly cart_id?: string | undefined;
    /**
     * Category
     * Category path of the product, from the general to the particular.
     */
    readonly category?: string | undefined;
    /**
     * Coupon
     * Code of the coupon in effect, when there is one.
     */
    readonly coupon?: string | undefined;
    /**
     * Currency
     * ISO 4217 code of every amount of the event.
     */
    readonly currency?: "EUR" | "GBP" | "CHF" | "USD" | undefined;
    /**
     * Price (minor units)
     * Price of one piece, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly price_minor?: number | undefined;
    /**
     * Product ID
     * Identifier of the product in the catalogue.
     */
    readonly product_id?: string | undefined;
    /**
     * Product name
     * Name of the product as shown to the visitor.
     */
    readonly product_name?: string | undefined;
    /**
     * Quantity
     * Number of pieces.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly quantity?: number | undefined;
    /**
     * SKU
     * Stock keeping unit of the variant.
     */
    readonly sku?: string | undefined;
    /**
     * Variant
     * Variant of the product, such as its colour and size.
     */
    readonly variant?: string | undefined;
  };
  readonly product_clicked: DefaultProperties & {
    /**
     * Brand
     * Brand of the product.
     */
    readonly brand?: string | undefined;
    /**
     * Currency
     * ISO 4217 code of every amount of the event.
     */
    readonly currency?: "EUR" | "GBP" | "CHF" | "USD" | undefined;
    /**
     * List ID
     * Identifier of the product list.
     */
    readonly list_id?: string | undefined;
    /**
     * Position
     * Place of the product in the list, from 1.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly position?: number | undefined;
    /**
     * Price (minor units)
     * Price of one piece, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly price_minor?: number | undefined;
    /**
     * Product ID
     * Identifier of the product in the catalogue.
     */
    readonly product_id?: string | undefined;
    /**
     * Product name
     * Name of the product as shown to the visitor.
     */
    readonly product_name?: string | undefined;
    /**
     * Product URL
     * Address of the product page.
     */
    readonly product_url?: string | undefined;
    /**
     * SKU
     * Stock keeping unit of the variant.
     */
    readonly sku?: string | undefined;
  };
  readonly product_list_filtered: DefaultProperties & {
    /**
     * Category
     * Category path of the product, from the general to the particular.
     */
    readonly category?: string | undefined;
    /**
     * Filters
     * Filters in effect, as name:value pairs separated by commas.
     */
    readonly filters?: string | undefined;
    /**
     * In stock only
     * Whether sold-out products are hidden.
     */
    readonly in_stock_only?: boolean | undefined;
    /**
     * List ID
     * Identifier of the product list.
     */
    readonly list_id?: string | undefined;
    /**
     * Result count
     * Number of products left.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly result_count?: number | undefined;
    /**
     * Sort order
     * Order of the list.
     */
    readonly sort_order?: "popularity" | "price_asc" | "price_desc" | "newest" | "rating" | undefined;
  };
  readonly product_list_viewed: DefaultProperties & {
    /**
     * Category
     * Category path of the product, from the general to the particular.
     */
    readonly category?: string | undefined;
    /**
     * List ID
     * Identifier of the product list.
     */
    readonly list_id?: string | undefined;
    /**
     * Page number
     * Page of the list, from 1.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly page_number?: number | undefined;
    /**
     * Product count
     * Number of different products.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly product_count?: number | undefined;
  };
  readonly product_removed: DefaultProperties & {
    /**
     * Cart ID
     * Identifier of the cart.
     */
    readonly cart_id?: string | undefined;
    /**
     * Currency
     * ISO 4217 code of every amount of the event.
     */
    readonly currency?: "EUR" | "GBP" | "CHF" | "USD" | undefined;
    /**
     * Price (minor units)
     * Price of one piece, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly price_minor?: number | undefined;
    /**
     * Product ID
     * Identifier of the product in the catalogue.
     */
    readonly product_id?: string | undefined;
    /**
     * Product name
     * Name of the product as shown to the visitor.
     */
    readonly product_name?: string | undefined;
    /**
     * Quantity
     * Number of pieces.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly quantity?: number | undefined;
    /**
     * Removal reason
     * Why the product left the cart.
     */
    readonly removal_reason?: "visitor" | "sold_out" | "variant_changed" | undefined;
    /**
     * SKU
     * Stock keeping unit of the variant.
     */
    readonly sku?: string | undefined;
  };
  readonly product_reviewed: DefaultProperties & {
    /**
     * Customer number
     * Number of the customer account.
     */
    readonly customer_number?: string | undefined;
    /**
     * Product ID
     * Identifier of the product in the catalogue.
     */
    readonly product_id?: string | undefined;
    /**
     * Purchased on
     * Day of the purchase.
     * A day: YYYY-MM-DD.
     */
    readonly purchased_on?: string | undefined;
    /**
     * Rating
     * 1 to 5 stars, halves allowed.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly rating?: number | undefined;
    /**
     * Review ID
     * Identifier of the review.
     */
    readonly review_id?: string | undefined;
    /**
     * Review title
     * Heading of the review.
     */
    readonly review_title?: string | undefined;
    /**
     * Verified purchase
     * Whether the customer bought the product here.
     */
    readonly verified_purchase?: boolean | undefined;
  };
  readonly product_shared: DefaultProperties & {
    /**
     * Product ID
     * Identifier of the product in the catalogue.
     */
    readonly product_id?: string | undefined;
    /**
     * Product name
     * Name of the product as shown to the visitor.
     */
    readonly product_name?: string | undefined;
    /**
     * Share channel
     * Way by which it was shared.
     */
    readonly share_channel?: "email" | "link" | "messenger" | "social" | undefined;
    /**
     * Share link
     * Address that was shared.
     */
    readonly share_link?: string | undefined;
  };
  readonly product_viewed: DefaultProperties & {
    /**
     * Average rating
     * Average of all reviews, 1 to 5, with one decimal.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly average_rating?: number | undefined;
    /**
     * Brand
     * Brand of the product.
     */
    readonly brand?: string | undefined;
    /**
     * Category
     * Category path of the product, from the general to the particular.
     */
    readonly category?: string | undefined;
    /**
     * Currency
     * ISO 4217 code of every amount of the event.
     */
    readonly currency?: "EUR" | "GBP" | "CHF" | "USD" | undefined;
    /**
     * Image URL
     * Address of the main image of the product.
     */
    readonly image_url?: string | undefined;
    /**
     * In stock
     * Whether the variant can be delivered at once.
     */
    readonly in_stock?: boolean | undefined;
    /**
     * Price (minor units)
     * Price of one piece, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly price_minor?: number | undefined;
    /**
     * Product ID
     * Identifier of the product in the catalogue.
     */
    readonly product_id?: string | undefined;
    /**
     * Product name
     * Name of the product as shown to the visitor.
     */
    readonly product_name?: string | undefined;
    /**
     * Product URL
     * Address of the product page.
     */
    readonly product_url?: string | undefined;
    /**
     * Release date
     * First day of sale.
     * A day: YYYY-MM-DD.
     */
    readonly release_date?: string | undefined;
    /**
     * SKU
     * Stock keeping unit of the variant.
     */
    readonly sku?: string | undefined;
    /**
     * Variant
     * Variant of the product, such as its colour and size.
     */
    readonly variant?: string | undefined;
  };
  readonly products_searched: DefaultProperties & {
    /**
     * Query
     * Words the visitor typed.
     */
    readonly query?: string | undefined;
    /**
     * Result count
     * Number of products found.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly result_count?: number | undefined;
    /**
     * Sort order
     * Order of the results.
     */
    readonly sort_order?: "relevance" | "price_asc" | "price_desc" | "newest" | undefined;
    /**
     * Suggestion used
     * Whether the words came from a suggestion.
     */
    readonly suggestion_used?: boolean | undefined;
  };
  readonly promotion_clicked: DefaultProperties & {
    /**
     * Creative
     * Name of the creative shown.
     */
    readonly creative?: string | undefined;
    /**
     * Placement
     * Where in the shop the promotion stands.
     */
    readonly placement?: "home_top" | "home_bottom" | "category" | "cart" | undefined;
    /**
     * Promotion ID
     * Identifier of the promotion.
     */
    readonly promotion_id?: string | undefined;
    /**
     * Promotion shown at
     * When the promotion came into view.
     * A time: ISO 8601, or a Date.
     */
    readonly promotion_shown_at?: Date | string | undefined;
    /**
     * Target link
     * Address the promotion leads to.
     */
    readonly target_link?: string | undefined;
  };
  readonly promotion_viewed: DefaultProperties & {
    /**
     * Creative
     * Name of the creative shown.
     */
    readonly creative?: string | undefined;
    /**
     * Placement
     * Where in the shop the promotion stands.
     */
    readonly placement?: "home_top" | "home_bottom" | "category" | "cart" | undefined;
    /**
     * Promotion ends on
     * Last day of the promotion.
     * A day: YYYY-MM-DD.
     */
    readonly promotion_ends_on?: string | undefined;
    /**
     * Promotion ID
     * Identifier of the promotion.
     */
    readonly promotion_id?: string | undefined;
  };
  readonly return_requested: DefaultProperties & {
    /**
     * Exchange wanted
     * Whether the customer wants another variant instead of the money.
     */
    readonly exchange_wanted?: boolean | undefined;
    /**
     * Order ID
     * Number of the order, as printed on its confirmation.
     */
    readonly order_id?: string | undefined;
    /**
     * Product count
     * Number of different products.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly product_count?: number | undefined;
    /**
     * Return number
     * Running number of the return, as printed on its label.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly return_number?: number | undefined;
    /**
     * Return reason
     * Why the goods come back.
     */
    readonly return_reason?: "too_small" | "too_large" | "defective" | "not_as_described" | "changed_mind" | undefined;
  };
  readonly wishlist_product_added: DefaultProperties & {
    /**
     * Currency
     * ISO 4217 code of every amount of the event.
     */
    readonly currency?: "EUR" | "GBP" | "CHF" | "USD" | undefined;
    /**
     * Price (minor units)
     * Price of one piece, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly price_minor?: number | undefined;
    /**
     * Product ID
     * Identifier of the product in the catalogue.
     */
    readonly product_id?: string | undefined;
    /**
     * Product name
     * Name of the product as shown to the visitor.
     */
    readonly product_name?: string | undefined;
    /**
     * SKU
     * Stock keeping unit of the variant.
     */
    readonly sku?: string | undefined;
    /**
     * Wishlist ID
     * Identifier of the wishlist.
     */
    readonly wishlist_id?: string | undefined;
    /**
     * Wishlist name
     * Name the customer gave the wishlist.
     */
    readonly wishlist_name?: string | undefined;
  };
  readonly wishlist_product_added_to_cart: DefaultProperties & {
    /**
     * Cart ID
     * Identifier of the cart.
     */
    readonly cart_id?: string | undefined;
    /**
     * Currency
     * ISO 4217 code of every amount of the event.
     */
    readonly currency?: "EUR" | "GBP" | "CHF" | "USD" | undefined;
    /**
     * Price (minor units)
     * Price of one piece, in the minor unit of the currency (cents).
     * At most 15 digits, at most one of them a decimal.
     */
    readonly price_minor?: number | undefined;
    /**
     * Product ID
     * Identifier of the product in the catalogue.
     */
    readonly product_id?: string | undefined;
    /**
     * Product name
     * Name of the product as shown to the visitor.
     */
    readonly product_name?: string | undefined;
    /**
     * Quantity
     * Number of pieces.
     * At most 15 digits, at most one of them a decimal.
     */
    readonly quantity?: number | undefined;
    /**
     * SKU
     * Stock keeping unit of the variant.
     */
    readonly sku?: string | undefined;
    /**
     * Wishlist ID
     * Identifier of the wishlist.
     */
    readonly wishlist_id?: string | undefined;
  };
  readonly wishlist_product_removed: DefaultProperties & {
    /**
     * Product ID
     * Identifier of the product in the catalogue.
     */
    readonly product_id?: string | undefined;
    /**
     * Product name
     * Name of the product as shown to the visitor.
     */
    readonly product_name?: string | undefined;
    /**
     * SKU
     * Stock keeping unit of the variant.
     */
    readonly sku?: string | undefined;
    /**
     * Wishlist ID
     * Identifier of the wishlist.
     */
    readonly wishlist_id?: string | undefined;
  };
}

/** One function for each event of the plan. */
export interface Events {
  /**
   * Back-in-Stock Alert Subscribed
   * A visitor asked to be told when a sold-out product can be had again.
   */
  readonly back_in_stock_alert_subscribed: (properties: EventProperties['back_in_stock_alert_subscribed'], about: Contact) => void;
  /**
   * Cart Shared
   * A visitor shared the cart with somebody.
   */
  readonly cart_shared: (properties: EventProperties['cart_shared'], about: Contact) => void;
  /**
   * Cart Viewed
   * A visitor opened the cart.
   */
  readonly cart_viewed: (properties: EventProperties['cart_viewed'], about: Contact) => void;
  /**
   * Checkout Started
   * A visitor went from the cart to the checkout. Linked to the deal that sales keeps for the cart.
   */
  readonly checkout_started: (properties: EventProperties['checkout_started'], about?: MatchedRecord) => void;
  /**
   * Checkout Step Completed
   * A visitor finished a step of the checkout.
   */
  readonly checkout_step_completed: (properties: EventProperties['checkout_step_completed'], about: Contact) => void;
  /**
   * Checkout Step Viewed
   * A visitor arrived at a step of the checkout.
   */
  readonly checkout_step_viewed: (properties: EventProperties['checkout_step_viewed'], about: Contact) => void;
  /**
   * Coupon Applied
   * A coupon was accepted for a cart.
   */
  readonly coupon_applied: (properties: EventProperties['coupon_applied'], about: Contact) => void;
  /**
   * Coupon Denied
   * A coupon was refused.
   */
  readonly coupon_denied: (properties: EventProperties['coupon_denied'], about: Contact) => void;
  /**
   * Coupon Entered
   * A visitor typed the code of a coupon.
   */
  readonly coupon_entered: (properties: EventProperties['coupon_entered'], about: Contact) => void;
  /**
   * Coupon Removed
   * A visitor took a coupon out of the cart.
   */
  readonly coupon_removed: (properties: EventProperties['coupon_removed'], about: Contact) => void;
  /**
   * Order Cancelled
   * An order was cancelled before it was shipped.
   */
  readonly order_cancelled: (properties: EventProperties['order_cancelled'], about?: MatchedRecord) => void;
  /**
   * Order Completed
   * A customer placed an order.
   */
  readonly order_completed: (properties: EventProperties['order_completed'], about?: MatchedRecord) => void;
  /**
   * Order Refunded
   * An order was paid back, wholly or in part. Sent by the accounting system, so there is no page or browser.
   */
  readonly order_refunded: (properties: EventProperties['order_refunded'], about?: MatchedRecord) => void;
  /**
   * Order Shipped
   * The warehouse handed a parcel of the order to the carrier. Sent by the warehouse, so there is no page or browser.
   */
  readonly order_shipped: (properties: EventProperties['order_shipped'], about?: MatchedRecord) => void;
  /**
   * Order Updated
   * An order was changed after it was placed.
   */
  readonly order_updated: (properties: EventProperties['order_updated'], about?: MatchedRecord) => void;
  /**
   * Payment Info Entered
   * A visitor gave the details of a payment. Carries no card or account number.
   */
  readonly payment_info_entered: (properties: EventProperties['payment_info_entered'], about: Contact) => void;
  /**
   * Product Added
   * A visitor put a product into the cart.
   */
  readonly product_added: (properties: EventProperties['product_added'], about: Contact) => void;
  /**
   * Product Clicked
   * A visitor opened a product from a list.
   */
  readonly product_clicked: (properties: EventProperties['product_clicked'], about: Contact) => void;
  /**
   * Product List Filtered
   * A visitor filtered or sorted a list of products.
   */
  readonly product_list_filtered: (properties: EventProperties['product_list_filtered'], about: Contact) => void;
  /**
   * Product List Viewed
   * A visitor opened a category or another list of products.
   */
  readonly product_list_viewed: (properties: EventProperties['product_list_viewed'], about: Contact) => void;
  /**
   * Product Removed
   * A visitor took a product out of the cart.
   */
  readonly product_removed: (properties: EventProperties['product_removed'], about: Contact) => void;
  /**
   * Product Reviewed
   * A customer reviewed a product. Linked to the contact by the number of the customer account.
   */
  readonly product_reviewed: (properties: EventProperties['product_reviewed'], about?: MatchedContact) => void;
  /**
   * Product Shared
   * A visitor shared a product with somebody.
   */
  readonly product_shared: (properties: EventProperties['product_shared'], about: Contact) => void;
  /**
   * Product Viewed
   * A visitor looked at the page of a product.
   */
  readonly product_viewed: (properties: EventProperties['product_viewed'], about: Contact) => void;
  /**
   * Products Searched
   * A visitor searched the catalogue.
   */
  readonly products_searched: (properties: EventProperties['products_searched'], about: Contact) => void;
  /**
   * Promotion Clicked
   * A visitor followed a promotion.
   */
  readonly promotion_clicked: (properties: EventProperties['promotion_clicked'], about: Contact) => void;
  /**
   * Promotion Viewed
   * A promotion came into view. Triggers workflows alone; its occurrences are not stored.
   */
  readonly promotion_viewed: (properties: EventProperties['promotion_viewed'], about?: Moment) => void;
  /**
   * Return Requested
   * A customer asked to send goods back. Linked to the ticket that customer service keeps for the return.
   */
  readonly return_requested: (properties: EventProperties['return_requested'], about?: MatchedRecord) => void;
  /**
   * Product Added to Wishlist
   * A visitor put a product on a wishlist.
   */
  readonly wishlist_product_added: (properties: EventProperties['wishlist_product_added'], about?: MatchedRecord) => void;
  /**
   * Wishlist Product Added to Cart
   * A visitor moved a product from a wishlist into the cart.
   */
  readonly wishlist_product_added_to_cart: (properties: EventProperties['wishlist_product_added_to_cart'], about: Contact) => void;
  /**
   * Product Removed from Wishlist
   * A visitor took a product off a wishlist.
   */
  readonly wishlist_product_removed: (properties: EventProperties['wishlist_product_removed'], about?: MatchedRecord) => void;
}

/** An occurrence is sent within `delayMs`; call `flush` before the program ends. */
export function createEvents(options: SenderOptions): { readonly events: Events; readonly flush: Sender['flush'] } {
  const sender = createSender(options);
  const events: Events = {
    back_in_stock_alert_subscribed: (...given) => sender.send('back_in_stock_alert_subscribed', ...given),
    cart_shared: (...given) => sender.send('cart_shared', ...given),
    cart_viewed: (...given) => sender.send('cart_viewed', ...given),
    checkout_started: (...given) => sender.send('checkout_started', ...given),
    checkout_step_completed: (...given) => sender.send('checkout_step_completed', ...given),
    checkout_step_viewed: (...given) => sender.send('checkout_step_viewed', ...given),
    coupon_applied: (...given) => sender.send('coupon_applied', ...given),
    coupon_denied: (...given) => sender.send('coupon_denied', ...given),
    coupon_entered: (...given) => sender.send('coupon_entered', ...given),
    coupon_removed: (...given) => sender.send('coupon_removed', ...given),
    order_cancelled: (...given) => sender.send('order_cancelled', ...given),
    order_completed: (...given) => sender.send('order_completed', ...given),
    order_refunded: (...given) => sender.send('order_refunded', ...given),
    order_shipped: (...given) => sender.send('order_shipped', ...given),
    order_updated: (...given) => sender.send('order_updated', ...given),
    payment_info_entered: (...given) => sender.send('payment_info_entered', ...given),
    product_added: (...given) => sender.send('product_added', ...given),
    product_clicked: (...given) => sender.send('product_clicked', ...given),
    product_list_filtered: (...given) => sender.send('product_list_filtered', ...given),
    product_list_viewed: (...given) => sender.send('product_list_viewed', ...given),
    product_removed: (...given) => sender.send('product_removed', ...given),
    product_reviewed: (...given) => sender.send('product_reviewed', ...given),
    product_shared: (...given) => sender.send('product_shared', ...given),
    product_viewed: (...given) => sender.send('product_viewed', ...given),
    products_searched: (...given) => sender.send('products_searched', ...given),
    promotion_clicked: (...given) => sender.send('promotion_clicked', ...given),
    promotion_viewed: (...given) => sender.send('promotion_viewed', ...given),
    return_requested: (...given) => sender.send('return_requested', ...given),
    wishlist_product_added: (...given) => sender.send('wishlist_product_added', ...given),
    wishlist_product_added_to_cart: (...given) => sender.send('wishlist_product_added_to_cart', ...given),
    wishlist_product_removed: (...given) => sender.send('wishlist_product_removed', ...given),
  };
  return { events, flush: sender.flush };
}

/** What every event takes. */
export interface Moment {
  /** When the event occurred; by default now. */
  readonly occurredAt?: Date | string | undefined;
  /** Deduplication key; by default a new one. A repeat within a year is ignored. */
  readonly uuid?: string | undefined;
}

/** A contact: at least one of the three. */
export type Contact = Moment &
  (
    | { readonly email: string; readonly utk?: string; readonly objectId?: string }
    | { readonly email?: string; readonly utk: string; readonly objectId?: string }
    | { readonly email?: string; readonly utk?: string; readonly objectId: string }
  );
/** A contact that the gateway can also find by a property of the event. */
export type MatchedContact = Moment & { readonly email?: string; readonly utk?: string; readonly objectId?: string };
/** Another record. */
export type OtherRecord = Moment & { readonly objectId: string };
/** A record that the gateway can also find by a property of the event. */
export type MatchedRecord = Moment & { readonly objectId?: string };

/** An occurrence as it is sent. */
export interface Occurrence extends Moment {
  readonly eventName: string;
  readonly properties: object;
  readonly email?: string;
  readonly utk?: string;
  readonly objectId?: string;
}

export interface SenderOptions {
  /** Address of the gateway. */
  readonly gateway: string;
  /** API key with the scope `analytics.behavioral_events.send`. */
  readonly key: string;
  /** Called with the occurrences that are given up, and the reason. What it answers or throws is ignored. */
  readonly onError: (error: Error, occurrences: readonly Occurrence[]) => unknown;
  /** How long an occurrence waits for others, in milliseconds. */
  readonly delayMs?: number;
  /** How many occurrences can wait. Further ones are given up. */
  readonly maxWaiting?: number;
  /** Waiting times before a request is repeated. */
  readonly retryDelaysMs?: readonly number[];
}

export interface Sender {
  readonly send: (eventName: string, properties: object, about?: Moment) => void;
  /** Sends what waits. Resolves when every occurrence so far is stored or given up. */
  readonly flush: () => Promise<void>;
}

/** The maximum of the gateway. */
const MAX_BATCH = 500;
/** Longer waiting times are not worth it, such as that for the next month. */
const MAX_RETRY_AFTER_MS = 120_000;
const RETRY_DELAYS_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000];
const TIMEOUT_MS = 30_000;

/** Sends occurrences in batches, one request at a time. Each has a deduplication key, so that a repeated request counts nothing twice. */
export function createSender(options: SenderOptions): Sender {
  const { delayMs = 1_000, maxWaiting = 10_000 } = options;
  const waiting: Waiting[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let sending: Promise<void> | undefined;

  async function drain(): Promise<void> {
    while (waiting.length > 0) await deliver(waiting.splice(0, MAX_BATCH), options);
  }

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    while (sending || waiting.length > 0) {
      sending ??= drain().finally(() => (sending = undefined));
      await sending;
    }
  }

  return {
    // Whatever is given, the program goes on.
    send(eventName, properties, about = {}) {
      let occurrence: Occurrence = { eventName, properties };
      try {
        const [occurredAt, uuid] = [about.occurredAt ?? new Date().toISOString(), about.uuid ?? newUuid()];
        occurrence = { ...about, occurredAt, uuid, eventName, properties };
        if (waiting.length >= maxWaiting) throw new Error('too many occurrences wait to be sent');
        waiting.push({ occurrence, json: jsonOf(occurrence) });
        if (waiting.length >= MAX_BATCH) void flush();
        else timer ??= setTimeout(() => void flush(), delayMs);
      } catch (error) {
        giveUp(options, error, [occurrence]);
      }
    },
    flush,
  };
}

/** An occurrence as it was when it was given. What the caller does with its object later changes nothing. */
interface Waiting {
  readonly occurrence: Occurrence;
  readonly json: string;
}

/**
 * `JSON.stringify` leaves out functions, and makes null of NaN and of an invalid date: the occurrence would be stored without the value.
 * @throws Error that names the property
 */
function jsonOf(occurrence: Occurrence): string {
  return JSON.stringify(occurrence, function (this: Readonly<Record<string, unknown>>, name, value: unknown) {
    const given = this[name];
    const isLost =
      (typeof value === 'number' && !Number.isFinite(value)) ||
      ['bigint', 'function', 'symbol'].includes(typeof value) ||
      (value === null && given !== null);
    if (isLost) throw new Error(`${name}: ${String(given)} cannot be sent`);
    return value;
  });
}

/** `crypto.randomUUID` is missing on pages that were loaded over plain http, and any text is a key. */
function newUuid(): string {
  const bytes = new Uint8Array(16);
  if (typeof crypto === 'object') crypto.getRandomValues(bytes);
  else bytes.forEach((_, index) => (bytes[index] = Math.random() * 256));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function giveUp({ onError }: SenderOptions, reason: unknown, occurrences: readonly Occurrence[]): void {
  const error = reason instanceof Error ? reason : new Error('cannot be sent', { cause: reason });
  // Its failure would end the program, also if it is asynchronous.
  void (async () => onError(error, occurrences))().catch(() => undefined);
}

/**
 * The gateway accepts all of a batch or none. It is sent again without the occurrences that the answer names; if it names none, such as for a
 * batch that is too large, in halves.
 */
async function deliver(batch: readonly Waiting[], options: SenderOptions): Promise<void> {
  const refusal = await post(batch, options);
  if (!refusal) return;
  const occurrences = batch.map(({ occurrence }) => occurrence);
  if (batch.length === 1 || !refusal.isOfContent) return giveUp(options, refusal.error, occurrences);
  const { faults } = refusal;
  occurrences.forEach((occurrence, index) => {
    const reason = faults.get(index);
    if (reason !== undefined) giveUp(options, new Error(reason), [occurrence]);
  });
  const others = batch.filter((_, index) => !faults.has(index));
  if (others.length === batch.length) {
    const half = Math.ceil(batch.length / 2);
    await deliver(batch.slice(0, half), options);
    await deliver(batch.slice(half), options);
  } else if (others.length > 0) await deliver(others, options);
}

interface Refusal {
  readonly error: Error;
  /** Whether other occurrences could be accepted. */
  readonly isOfContent: boolean;
  /** What the answer says about single occurrences, by their positions in the batch. */
  readonly faults: ReadonlyMap<number, string>;
}

function faultsIn(text: string): Map<number, string> {
  const faults = new Map<number, string>();
  try {
    const { errors } = JSON.parse(text) as {
      readonly errors: readonly { readonly in: string; readonly message: string }[];
    };
    for (const { in: path, message } of errors) {
      const [, index = '', field = ''] = /^inputs\.(\d+)\.?(.*)$/.exec(path) ?? [];
      if (index !== '' && !faults.has(Number(index))) faults.set(Number(index), `${field}: ${message}`);
    }
  } catch {
    // It is the answer of something else, such as a proxy.
  }
  return faults;
}

async function post(batch: readonly Waiting[], options: SenderOptions): Promise<Refusal | undefined> {
  const delays = options.retryDelaysMs ?? RETRY_DELAYS_MS;
  const body = `{"inputs":[${batch.map(({ json }) => json).join(',')}]}`;
  for (let attempt = 0; ; attempt += 1) {
    const { refusal, waitMs } = await tryOnce(body, options);
    const delay = delays[attempt];
    if (!refusal || waitMs === undefined || delay === undefined) return refusal;
    await new Promise((resolve) => setTimeout(resolve, Math.max(delay, waitMs)));
  }
}

/** `waitMs` is set if the request can be repeated. */
async function tryOnce(
  body: string,
  { gateway, key }: SenderOptions,
): Promise<{ readonly refusal?: Refusal; readonly waitMs?: number }> {
  try {
    const answer = await fetch(`${gateway.replace(/\/+$/, '')}/events/2026-03/send/batch`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await answer.text();
    if (answer.ok) return {};
    const error = new Error(`the gateway answered ${answer.status}: ${text.slice(0, 2_000)}`);
    const isOfContent = [400, 404, 413].includes(answer.status);
    // A proxy can answer a date, which is not a number.
    const waitMs = (Number(answer.headers.get('Retry-After')) || 0) * 1_000;
    const canRepeat = (answer.status === 429 || answer.status >= 500) && waitMs <= MAX_RETRY_AFTER_MS;
    return { refusal: { error, isOfContent, faults: faultsIn(text) }, ...(canRepeat && { waitMs }) };
  } catch (error) {
    return {
      refusal: {
        error: error instanceof Error ? error : new Error(String(error)),
        isOfContent: false,
        faults: new Map(),
      },
      waitMs: 0,
    };
  }
}
